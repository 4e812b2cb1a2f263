"""/api/v1/namespaces/<ns>/keys: the signing keys of a namespace, listed for its readers, changed by its owners."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of
from apps.lib.errors import Invalid
from apps.providers.signatures.keys import key_of, keys_of
from apps.signing import keys


class KeyInput(serializers.Serializer[Any]):
    """A public key to register, or the algorithm of a key for a worker to generate. `signing.keys` validates both."""

    armor = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    source = serializers.CharField(required=False, allow_blank=True)  # type: ignore[assignment]  # taken off the class
    source_url = serializers.CharField(required=False, allow_blank=True)
    generate = serializers.ChoiceField(required=False, choices=list(keys.ALGORITHMS))


class EndInput(serializers.Serializer[Any]):
    """`signing.keys` limits the length, with the same error on every way in."""

    reason = serializers.CharField(allow_blank=True)


def key_document(key: Any) -> dict[str, Any]:
    """One key of `keys_of`. Fingerprint, key id and armor of a `pending` key are empty."""
    return keys.key_document(key) | {"releases": key.release_count}


class KeyList(ApiView):
    http_method_names = ["get", "head", "post"]

    @operation("List the signing keys of a namespace", answers={200: shapes.KeyPage}, query=CURSOR, public=True)
    def get(self, request: Request, namespace: str) -> Response:
        target = gate.namespace_for(self.viewer, namespace)
        return Response(page_of(request, "keys", keys_of(target), key_document))

    @operation(
        "Register, renew or request a key",
        takes=KeyInput,
        answers={200: shapes.Key, 201: shapes.Key, 202: shapes.Key},
        again="Renews a registered key; requests another one of Larder.",
        scope="manage",
    )
    def post(self, request: Request, namespace: str) -> Response:
        """201 with a registered key, 200 with a renewed one, 202 with one for a worker to generate."""
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        wanted = validated(KeyInput, read_json(request))
        if ("armor" in wanted) == ("generate" in wanted):
            raise Invalid(
                "A key is either registered or generated.",
                hint='Send {"armor": "-----BEGIN PGP PUBLIC KEY BLOCK-----…"} or {"generate": "ed25519"}.',
            )
        if "generate" not in wanted:
            added = keys.register_or_renew(namespace=target, actor=self.viewer, **wanted)
            key, status = added.key, HTTPStatus.CREATED if added.created else HTTPStatus.OK
        elif len(wanted) > 1:
            raise Invalid("A key that Larder generates has no source.", hint="Send `generate` alone.")
        else:
            requested = keys.request(namespace=target, algorithm=wanted["generate"], actor=self.viewer)
            key, status = requested, HTTPStatus.ACCEPTED
        return Response(key_document(keys_of(target).get(pk=key.pk)), status=status)


class KeyDetail(ApiView):
    @operation("Show a signing key", answers={200: shapes.Key}, public=True)
    def get(self, request: Request, namespace: str, fingerprint: str) -> Response:  # noqa: ARG002
        target = gate.namespace_for(self.viewer, namespace)
        return Response(key_document(key_of(target, fingerprint)))


class End(ApiView):
    """`{"reason": "…"}`; 200 with the key afterwards."""

    http_method_names = ["post"]
    verb: Callable[..., None]

    @operation("End a key", takes=EndInput, answers={200: shapes.Key}, again="409.", scope="manage")
    def post(self, request: Request, namespace: str, fingerprint: str) -> Response:
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        reason = validated(EndInput, read_json(request))["reason"]
        type(self).verb(key=key_of(target, fingerprint), actor=self.viewer, reason=reason)
        return Response(key_document(key_of(target, fingerprint)))


class Retire(End):
    verb = staticmethod(keys.retire)


class Revoke(End):
    verb = staticmethod(keys.revoke)


_KEYS = "namespaces/<segment:namespace>/keys"

urlpatterns = [
    path(_KEYS, KeyList.as_view(), name="keys"),
    path(f"{_KEYS}/<segment:fingerprint>", KeyDetail.as_view(), name="key"),
    path(f"{_KEYS}/<segment:fingerprint>/retire", Retire.as_view(), name="key-retire"),
    path(f"{_KEYS}/<segment:fingerprint>/revoke", Revoke.as_view(), name="key-revoke"),
]
