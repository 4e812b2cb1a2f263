"""/api/v1/namespaces/<ns>/connections for owners: what works without a person, who answers for it, and confirm."""

from collections.abc import Collection
from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.accounts.access import connections, gate
from apps.accounts.access.connections import Connected
from apps.accounts.models import Namespace, Role
from apps.api.frame.base import ApiView, ListView, listed, operation
from apps.api.frame.shapes import Connection, LeftBehind, Shape, page


class ConnectionList(ListView):
    get = listed(
        "List the connections of a namespace",
        page("ConnectionPage", connections=Connection(many=True)),
        query={"suspended": "true: only those that need a confirmation."},
        scope="manage",
    )

    def rows(self, namespace: str) -> list[Connected]:
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        return connections.waiting_in(target) if self.text("suspended") == "true" else connections.of(target)


def answer_left(view: ApiView, left: Collection[Connected]) -> Response:
    """Answer 200 with what an act left behind, 204 if that is nothing."""
    if not left:
        return view.answer(status=HTTPStatus.NO_CONTENT)
    return view.answer({"left_behind": left}, shape=LeftBehind)


class Secret(Shape):
    kind = CharField(source="noun", help_text="signing key or token.")
    name = CharField()
    person = CharField(source="person.shown_name", help_text="Former owners who may know it.")


class SecretList(ListView):
    """The secrets that remain after a transfer: owners replace each that the person should no longer have."""

    get = listed(
        "List the secrets that former owners may know",
        page("SecretPage", secrets=Secret(many=True)),
        scope="manage",
    )

    def rows(self, namespace: str) -> list[connections.Secret]:
        return connections.secrets_of_others(gate.namespace_for(self.viewer, namespace, need=Role.OWNER))


class Confirm(ApiView):
    @operation(
        "Confirm a connection",
        answers={200: Connection},
        errors={404: "There is no such connection, or it has ended."},
        again="Changes nothing.",
        idempotent=True,
    )
    def post(
        self,
        request: Request,  # noqa: ARG002
        namespace: str,
        connection_kind: str,
        connection_id: int,
    ) -> Response:
        """The caller answers for it from now on, instead of those before. A suspended one works again."""
        target: Namespace = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        found = connections.confirm(namespace=target, kind=connection_kind, number=connection_id, actor=self.viewer)
        return self.answer(found)


_LIST = "namespaces/<segment:namespace>/connections"

urlpatterns: list[Any] = [
    path(_LIST, ConnectionList.as_view(), name="connections"),
    path(f"{_LIST}/secrets", SecretList.as_view(), name="connection-secrets"),
    path(
        f"{_LIST}/<segment:connection_kind>/<int:connection_id>/confirm", Confirm.as_view(), name="connection-confirm"
    ),
]
