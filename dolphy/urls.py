"""Every address of this server."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from dolphy import health
from retrieval.backend_health.view import backend_health

api = [
    path("", include("tenants.urls")),
    path("", include("ingestion.urls")),
    path("", include("retrieval.urls")),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(url="/api/docs/")),
    path("api/v1/", include(api)),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", SpectacularSwaggerView.as_view(url_name="schema"), name="docs"),
    path("admin/", admin.site.urls),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("backend-health", backend_health, name="backend-health"),
]

handler400 = "dolphy.api.bad_request"
handler404 = "dolphy.api.not_found"
handler500 = "dolphy.api.server_error"
