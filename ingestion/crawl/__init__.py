"""Websites become documents: fetched with care, again and again, only what changed costing work.

    start ─► frontier ─► fetch ─► read ─► settle ─► deliver ─► a document with a job
                 ▲                  │links
                 └──────────────────┘          … until nothing waits, then: finish

`crawl.py` reads top to bottom as the whole. State lives in rows (`models.py`); a worker that dies
is followed by another that goes on where it was.
"""
