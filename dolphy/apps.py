from django.apps import AppConfig


class DolphyConfig(AppConfig):
    name = "dolphy"
