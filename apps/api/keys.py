"""/api/v1/namespaces/<ns>/keys: the signing keys of a namespace, listed for its readers, changed by its owners."""

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame.base import DRY_RUN, SLOT_SECONDS, ApiView, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Consequences, MomentField, Shape, page
from apps.lib.errors import Invalid
from apps.modules.dependents.impact import of_releases
from apps.providers.signatures.keys import key_of, keys_of, signed_by
from apps.releases.lifecycle.impact import Act
from apps.signing import keys
from apps.signing.models import Custody, SigningKey, State

# Of a dry run: the versions whose users are looked up.
MAX_WEIGHED = 500


class KeyInput(serializers.Serializer[Any]):
    """A public key to register, or the algorithm of a key for a worker to generate."""

    armor = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    source = serializers.CharField(required=False, allow_blank=True)  # type: ignore[assignment]  # taken off the class
    source_url = serializers.CharField(required=False, allow_blank=True)
    generate = serializers.ChoiceField(required=False, choices=list(keys.ALGORITHMS))


class EndInput(serializers.Serializer[Any]):
    # `signing.keys` limits the length, with the same error on every way in.

    reason = serializers.CharField(allow_blank=True)


class SecondField(MomentField):
    """In seconds, as OpenPGP has times."""

    def to_representation(self, value: datetime) -> str | None:  # type: ignore[override]  # its own formats differ
        return super().to_representation(value.replace(microsecond=0))


class Key(Shape):
    # Of a key of `keys_of`. Fingerprint, key id and armor of a `pending` key are empty.
    id = IntegerField(source="pk")
    fingerprint = CharField()
    key_id = CharField()
    state = ChoiceField(choices=State.values)
    custody = ChoiceField(choices=Custody.values)
    algorithm = CharField()
    uid = CharField()
    source = CharField()  # type: ignore[assignment]  # a field's name
    source_url = CharField()
    made_at = SecondField(allow_null=True)
    added_at = SecondField(allow_null=True)
    expires_at = SecondField(allow_null=True)
    expired = BooleanField(source="is_expired")
    ended_at = SecondField(allow_null=True)
    reason = CharField()
    ascii_armor = CharField(source="armor", help_text="Empty until a worker has generated it.")
    releases = IntegerField(source="release_count", help_text="Number of versions that it signed.")


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of the keys of these namespaces that have not ended for files that describe them."""
    rows = SigningKey.objects.filter(namespace__name__in=names, state__in=(State.PENDING, State.ACTIVE))
    for row in rows.select_related("namespace").newest_first().iterator():
        made = {"generate": row.algorithm} if row.custody == Custody.REGISTRY else {"armor": row.armor}
        yield row.namespace.name, {"id": row.pk, "source": row.source, "source_url": row.source_url, **made}


class KeyList(ListView):
    slot_seconds = SLOT_SECONDS
    get = listed("List the signing keys of a namespace", page("KeyPage", keys=Key(many=True)), public=True)

    def rows(self, namespace: str) -> QuerySet[SigningKey]:
        return keys_of(gate.namespace_for(self.viewer, namespace))

    @operation(
        "Register, renew or request a key",
        takes=KeyInput,
        answers={200: Key, 201: Key, 202: Key},
        again="Renews a registered key; requests another generated key.",
    )
    def post(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """201 with a registered key, 200 with a renewed one, 202 with one for a worker to generate."""
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        wanted = self.body()
        if ("armor" in wanted) == ("generate" in wanted):
            raise Invalid(
                "A key is either registered or generated.",
                hint='Send {"armor": "-----BEGIN PGP PUBLIC KEY BLOCK-----…"} or {"generate": "ed25519"}.',
            )
        if "generate" not in wanted:
            key, is_new = keys.register_or_renew(namespace=target, actor=self.viewer, **wanted)
            status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        elif len(wanted) > 1:
            raise Invalid("A generated key has no source.", hint="Send `generate` alone.")
        else:
            requested = keys.request(namespace=target, algorithm=wanted["generate"], actor=self.viewer)
            key, status = requested, HTTPStatus.ACCEPTED
        return self.answer(keys_of(target).get(pk=key.pk), status)


class KeyDetail(DetailView):
    get = shown("Show a signing key", Key, public=True)

    def row(self, namespace: str, fingerprint: str) -> SigningKey:
        return key_of(gate.namespace_for(self.viewer, namespace), fingerprint)


class End(ApiView):
    """`{"reason": "…"}`; 200 with the key afterwards."""

    verb: Callable[..., None]
    weighed: Act

    @operation(
        "Retire or revoke a key",
        takes=EndInput,
        answers={200: (Key, Consequences)},
        query=DRY_RUN,
        again="409.",
    )
    def post(self, request: Request, namespace: str, fingerprint: str) -> Response:  # noqa: ARG002
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        if self.is_dry_run():
            signed = signed_by(key_of(target, fingerprint)).select_related("release__namespace")
            releases = [one.release for one in signed[:MAX_WEIGHED]]
            found = of_releases(self.viewer, releases, self.weighed, role=Role.OWNER)
            return self.answer(found, shape=Consequences)
        reason = self.body()["reason"]
        type(self).verb(key=key_of(target, fingerprint), actor=self.viewer, reason=reason)
        return self.answer(key_of(target, fingerprint), shape=Key)


class Retire(End):
    verb = staticmethod(keys.retire)
    weighed = Act.RETIRE_KEY


class Revoke(End):
    verb = staticmethod(keys.revoke)
    weighed = Act.REVOKE_KEY


_KEYS = "namespaces/<segment:namespace>/keys"

urlpatterns = [
    path(_KEYS, KeyList.as_view(), name="keys"),
    path(f"{_KEYS}/<segment:fingerprint>", KeyDetail.as_view(), name="key"),
    path(f"{_KEYS}/<segment:fingerprint>/retire", Retire.as_view(), name="key-retire"),
    path(f"{_KEYS}/<segment:fingerprint>/revoke", Revoke.as_view(), name="key-revoke"),
]
