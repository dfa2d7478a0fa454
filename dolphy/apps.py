from django.apps import AppConfig


class DolphyConfig(AppConfig):
    name = "dolphy"

    def ready(self) -> None:
        from dolphy import celery  # noqa: F401 (shared tasks find their broker in every process)
