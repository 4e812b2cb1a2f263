"""/api/v1/tokens: a person's own tokens. They are listed and revoked here, and made on the page or by `tofu login`:
a token that could make tokens would outlive its end and its revocation.
"""

from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, User
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of
from apps.api.people import answers
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
    http_method_names = ["delete"]

    @operation("Revoke one's own token", answers={204: None}, again="204.", scope="manage", idempotent=True)
    def delete(self, request: Request, token_id: int) -> Response:  # noqa: ARG002
        """A token of any scope may revoke itself."""
        self.require_token()
        is_itself = self.viewer.token_id == token_id and self.viewer.user is not None
        user = self.viewer.user if is_itself and self.viewer.user else gate.person_for(self.viewer)
        tokens.revoke(token=tokens.token_of(user, token_id), actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


urlpatterns = [
    path("tokens", TokenList.as_view(), name="tokens"),
    path("tokens/<int:token_id>", TokenDetail.as_view(), name="token"),
]
