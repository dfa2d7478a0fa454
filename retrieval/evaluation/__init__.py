"""Evaluation: how good the order of the evidence is, asked through the production path.

    dataset → scratch tenant → ask every question → metrics → intervals → tables, JSON, report

Every question goes through `retrieval.retrieve.retrieve()`, so what is measured is what is served.
"""
