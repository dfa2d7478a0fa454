"""What ingestion costs beside the embedder: workers at work, a website's pages, a long PDF.

It runs on a ground of its own (`ground.py`): a database, a broker and a media folder made for it,
so that no worker of the installation takes its jobs and its workers take nobody else's. Vectors
come from a scripted endpoint that waits as long as it is told and costs almost no processor time.
"""
