"""POST /api/v1/leaked-tokens: for secret scanners, which find a token where it must not be."""

import hashlib
from typing import Any

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField

from apps.accounts.identity import tokens
from apps.api.frame.base import ApiView, operation
from apps.api.frame.shapes import Shape

MAX_TOKENS = 100


class FoundInput(serializers.Serializer[Any]):
    token = serializers.CharField(max_length=200)
    url = serializers.CharField(required=False, allow_blank=True, max_length=tokens.MAX_LEAK_URL_LENGTH)


class LeaksInput(serializers.Serializer[Any]):
    tokens = serializers.ListField(child=FoundInput(), max_length=MAX_TOKENS)


class Leak(Shape):
    sha256 = CharField(help_text="SHA-256 of the reported text.")
    is_token = BooleanField(help_text="The text was a token, and it is now revoked.")


class Leaks(Shape):
    tokens = Leak(many=True, help_text="Results, in the order of the report.")


class LeakedTokens(ApiView):
    """Anyone may report: who has a token could do worse with it."""

    authentication_classes = []

    @operation(
        "Report leaked tokens",
        takes=LeaksInput,
        answers={200: Leaks},
        limits=["tokens"],
        again="The first report of a token counts.",
        scope=None,
        public=True,
        idempotent=True,
    )
    @sensitive_variables("wanted", "found", "real")
    def post(self, request: Request) -> Response:  # noqa: ARG002
        """200, and for each token in turn its SHA-256 and whether it was one of this Larder. Then it is revoked."""
        wanted = self.body()["tokens"]
        found: dict[str, str] = {}
        for one in wanted:
            found.setdefault(one["token"], one.get("url", ""))
        real = tokens.report_leaks(found)
        if not real:  # a report of a real token is never refused, whatever else comes from its address
            self.count("tokens")
        judged = [
            {"sha256": hashlib.sha256(text.encode()).hexdigest(), "is_token": text in real}
            for text in (one["token"] for one in wanted)
        ]
        return self.answer({"tokens": judged}, headers={"Cache-Control": "no-store"})


urlpatterns = [path("leaked-tokens", LeakedTokens.as_view(), name="leaked-tokens")]
