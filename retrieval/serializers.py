"""A question as the API reads it, and its evidence as the API shows it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers
from rest_framework.utils.encoders import JSONEncoder

from dolphy.inputs import Flag, Input, TypedText, Whole
from retrieval.models import Trace
from retrieval.retrieve import Retrieval
from tenants.models import Fusion


class FusionName(serializers.ChoiceField):
    """One of the ways to make one order of the branches."""

    def __init__(self, **options: object) -> None:
        super().__init__(Fusion.choices, **options)


@extend_schema_serializer(
    examples=[
        OpenApiExample(
            "Question", value={"question": "İade süresi kaç gün?", "limit": 5}, request_only=True
        )
    ]
)
class SearchRequest(Input):
    question = TypedText(allow_blank=True, help_text="As it was typed, at most 2,000 characters.")
    limit = Whole(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=50,
        help_text="The agent's own when left out.",
    )
    fusion = FusionName(required=False, allow_null=True, help_text="The agent's own when left out.")
    explain = Flag(required=False, default=False, help_text="Add the whole trace.")


class EvidenceSerializer(serializers.Serializer):
    rank = serializers.IntegerField()
    score = serializers.FloatField(help_text="Orders this pool; says nothing across questions.")
    semantic = serializers.FloatField(help_text="The semantic part, 0 to 1 within the pool.")
    lexical = serializers.FloatField(help_text="The lexical part, 0 to 1 within the pool.")
    similarity = serializers.FloatField(help_text="The cosine of question and passage.")
    document = serializers.CharField(help_text="The document's title.")
    document_id = serializers.UUIDField()
    passage_id = serializers.IntegerField()
    uri = serializers.CharField()
    heading = serializers.ListField(child=serializers.CharField())
    page = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()


class SearchAnswerSerializer(serializers.Serializer):
    question = serializers.CharField()
    trace = serializers.UUIDField()
    fusion = FusionName()
    answers = serializers.BooleanField(
        allow_null=True,
        help_text="Whether the evidence answers at all; null where that was not measured.",
    )
    evidence = EvidenceSerializer(many=True)
    timings_ms = serializers.DictField(child=serializers.FloatField())
    explanation = serializers.DictField(required=False, help_text="With `explain`: the trace.")


def answered(retrieval: Retrieval, trace: Trace, *, explain: bool) -> dict[str, Any]:
    """A search as the API and the command give it: `SearchAnswerSerializer`'s fields."""
    answer = {
        "question": trace.question,
        "trace": trace.pk,
        "fusion": retrieval.trace["settings"]["fusion"],
        "answers": retrieval.answers,
        "evidence": [asdict(one) for one in retrieval.evidence],
        "timings_ms": retrieval.timings_ms,
    }
    return answer | ({"explanation": retrieval.trace} if explain else {})


def as_json(answer: dict[str, Any]) -> str:
    """An answer as text for people and programs, as the API would spell its values."""
    return json.dumps(answer, cls=JSONEncoder, ensure_ascii=False, indent=2)
