"""Respell: the words by which diacritics come back, counted anew from the passages that are stored.

A normal ingestion counts them with the lexemes. Where a new analyser rewrites the lexemes without
it (`reembed.py`), this does for each document what its ingestion would have done. A document that
was swapped meanwhile has new words already, so it is left alone.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from django.db import transaction

from dolphy.embedding import Embedder
from ingestion.analyse import surface_forms
from ingestion.models import Document, Passage, Word
from ingestion.rebuilt import rebuilt
from ingestion.swap import write_words
from tenants.models import Agent


def respell(agent: Agent, embedder: Embedder) -> int:
    """Renew the words of every document, each in a transaction of its own; returns of how many.

    Safe to stop and to run again.
    """
    documents = Document.objects.filter(tenant=agent.tenant_id, agent=agent.pk)
    keys = list(documents.filter(passage_count__gt=0).order_by("pk").values_list("pk", flat=True))
    return sum(_respell(agent, key, embedder) for key in keys)


def _respell(agent: Agent, key: UUID, embedder: Embedder) -> bool:
    owner = {"tenant": agent.tenant_id, "agent": agent.pk}
    passages = Passage.objects.filter(**owner, document=key).order_by("position")
    stored = list(passages.values_list("pk", "document__title", "heading", "text"))
    words = _words(stored, agent.language, embedder)
    with transaction.atomic():
        document = Document.objects.select_for_update(no_key=True).filter(**owner, pk=key).first()
        alike = list(passages.values_list("pk", flat=True)) == [pk for pk, *_ in stored]
        if document is None or not alike:
            return False
        Word.objects.filter(**owner, document=key).delete()
        write_words(document, words)
    return True


def _words(
    stored: list[tuple[Any, ...]], language: str, embedder: Embedder
) -> Counter[tuple[str, str]]:
    words: Counter[tuple[str, str]] = Counter()
    for _, title, heading, text in stored:
        words.update(surface_forms(rebuilt(title, heading, text, embedder), language))
    return words
