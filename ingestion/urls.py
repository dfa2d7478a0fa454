"""Documents and jobs."""

from django.urls import path

from ingestion import examples, views
from ingestion.crawl import views as crawl

examples.give()
urlpatterns = [
    path("agents/<str:agent_id>/documents", views.DocumentsView.as_view()),
    path("documents/<str:document_id>", views.DocumentView.as_view()),
    path("documents/<str:document_id>/enable", views.EnableView.as_view()),
    path("documents/<str:document_id>/disable", views.DisableView.as_view()),
    path("documents/<str:document_id>/file", views.DocumentFileView.as_view()),
    path("documents/<str:document_id>/passages", views.PassagesView.as_view()),
    path("agents/<str:agent_id>/jobs", views.JobsView.as_view()),
    path("jobs/<str:job_id>", views.JobView.as_view()),
    path("jobs/<str:job_id>/cancel", views.CancelView.as_view()),
    path("jobs/<str:job_id>/pause", views.PauseView.as_view()),
    path("jobs/<str:job_id>/resume", views.ResumeView.as_view()),
    path("jobs/<str:job_id>/retry", views.RetryView.as_view()),
    path("agents/<str:agent_id>/websites", crawl.WebsitesView.as_view()),
    path("websites/<str:website_id>", crawl.WebsiteView.as_view()),
    path("websites/<str:website_id>/pages", crawl.WebsitePagesView.as_view()),
    path("websites/<str:website_id>/syncs", crawl.SyncsView.as_view()),
    path("syncs/<str:sync_id>", crawl.SyncView.as_view()),
    path("syncs/<str:sync_id>/cancel", crawl.CancelSyncView.as_view()),
    path("syncs/<str:sync_id>/pause", crawl.PauseSyncView.as_view()),
    path("syncs/<str:sync_id>/resume", crawl.ResumeSyncView.as_view()),
]
