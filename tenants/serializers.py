"""What the API shows of tenants, and what every answer has in common."""

from __future__ import annotations

from rest_framework import serializers

from tenants.models import Agent


class ErrorBodySerializer(serializers.Serializer):
    code = serializers.CharField(help_text="Stable; made for programs.")
    message = serializers.CharField(help_text="Made for people; may change.")
    fields = serializers.DictField(
        required=False, help_text="With `invalid_input`: what is wrong with each field."
    )


class ErrorSerializer(serializers.Serializer):
    """Every refusal."""

    error = ErrorBodySerializer()


class AgentSerializer(serializers.ModelSerializer):
    class Meta:
        model = Agent
        fields = [
            "id",
            "slug",
            "name",
            "language",
            "fusion",
            "semantic_weight",
            "lexical_weight",
            "semantic_depth",
            "lexical_depth",
            "evidence_limit",
            "document_cap",
            "strongest_document_cap",
            "created_at",
        ]
        read_only_fields = fields


class AgentPageSerializer(serializers.Serializer):
    results = AgentSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the page after this.")
