"""Questions."""

from django.urls import path

from retrieval import views

urlpatterns = [path("agents/<str:agent_id>/search", views.SearchView.as_view())]
