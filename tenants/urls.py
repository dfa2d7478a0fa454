"""Ids are plain text here: what is not an id is `NotFound`, said by the view as any other."""

from django.urls import path

from tenants import views

urlpatterns = [
    path("agents", views.AgentsView.as_view()),
    path("agents/<str:agent_id>", views.AgentView.as_view()),
]
