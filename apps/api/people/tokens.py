"""/api/v1/tokens: a person's own tokens. They are listed and revoked here, and made on the page or by `tofu login`:
a token that could make tokens would outlive its end and its revocation.
"""

from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import creations
from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.creations import Creation
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, User
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.api.people import answers
from apps.lib.errors import Invalid
from apps.releases.catalogue.documents import moment


def token_document(token: ApiToken) -> dict[str, Any]:
    """Without the secret, which nobody has, and the digest."""
    return {
        "id": token.pk,
        "label": token.label,
        "start": token.start,
        "scope": token.scope,
        "namespaces": sorted(namespace.name for namespace in token.namespaces.all()) if token.is_limited else None,
        "only_name": token.only_name,
        "usable": token.is_usable,
        "created_at": moment(token.created_at),
        "expires_at": moment(token.expires_at),
        "revoked_at": moment(token.revoked_at),
        "suspended_at": moment(token.suspended_at),
        "leaked_at": moment(token.leaked_at),
        "leaked_url": token.leaked_url,
        "last_used_at": moment(token.last_used_at),
        "last_used_by": token.last_used_by,
        "last_used_from": token.last_used_from,
    }


END = {"end": "`created`: also end what the token created, as far as the caller may."}
END_CHOICES = {"end": ["created"]}


def token_detail(token: ApiToken) -> Response:
    """With what it created and has not ended."""
    return Response(token_document(token) | {"created": [_creation(one) for one in creations.creations_of(token)]})


def revoked(request: Request, token: ApiToken, viewer: Viewer) -> Response:
    """Revoke it, and with `?end=created` what it created. Raises Invalid for another word, before anything ends."""
    asked = text_of(request, "end")
    if asked not in ("", "created"):
        raise Invalid(f"end is {asked!a}, expected created.", hint="Leave it out to revoke the token alone.")
    if not asked:
        tokens.revoke(token=token, actor=viewer)
        return Response(status=HTTPStatus.NO_CONTENT)
    found = creations.revoke_with_creations(token=token, actor=viewer)
    kept = [_creation(one) | {"reason": str(why), "hint": why.hint} for one, why in found.kept]
    return Response({"ended": [_creation(one) for one in found.ended], "kept": kept})


def _creation(one: Creation) -> dict[str, Any]:
    return {"kind": one.kind, "name": one.name, "created_at": moment(one.at)}


def token_page(request: Request, user: User) -> Response:
    """The newest first, those that have ended included."""
    rows = ApiToken.objects.filter(user=user).newest_first().prefetch_related("namespaces")
    return Response(page_of(request, "tokens", rows, token_document))


class TokenList(ApiView):
    http_method_names = ["get", "head"]

    @operation("List one's own tokens", answers={200: answers.TokenPage}, query=CURSOR, scope="manage")
    def get(self, request: Request) -> Response:
        self.require_token()
        return token_page(request, gate.person_for(self.viewer))


class TokenDetail(ApiView):
    http_method_names = ["get", "head", "delete"]

    @operation("Show one's own token", answers={200: answers.TokenDetail}, scope="manage")
    def get(self, request: Request, token_id: int) -> Response:  # noqa: ARG002
        self.require_token()
        return token_detail(tokens.token_of(gate.person_for(self.viewer), token_id))

    @operation(
        "Revoke one's own token",
        answers={200: answers.RevokedToken, 204: None},
        query=END,
        choices=END_CHOICES,
        again="The same.",
        scope="manage",
        idempotent=True,
    )
    def delete(self, request: Request, token_id: int) -> Response:
        """200 with `end`, 204 without it. A token of any scope may revoke itself."""
        self.require_token()
        is_itself = self.viewer.token_id == token_id and self.viewer.user is not None
        user = self.viewer.user if is_itself and self.viewer.user else gate.person_for(self.viewer)
        return revoked(request, tokens.token_of(user, token_id), self.viewer)


urlpatterns = [
    path("tokens", TokenList.as_view(), name="tokens"),
    path("tokens/<int:token_id>", TokenDetail.as_view(), name="token"),
]
