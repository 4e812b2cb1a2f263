"""Rows of signing keys with real keys in them, for tests of whatever builds on signing."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Namespace
from apps.signing import vault
from apps.signing.models import Custody, SigningKey, State
from tests.builders.keys import signing_key


def held_key(namespace: Namespace, kind: str = "ed25519") -> SigningKey:
    """A key in the registry. Also use the fixture `worker_host`, which seals its private half."""
    with transaction.atomic():
        key = key_row(namespace, kind, custody=Custody.REGISTRY)
        vault.seal(key, signing_key(kind).secret_armor.encode()).save()
    return key


def key_row(namespace: Namespace, kind: str = "ed25519", **more: Any) -> SigningKey:
    """A registered key of any kind, also of those that registering refuses."""
    made = signing_key(kind)
    ends = {"expired": timedelta(days=-28), "expiring": timedelta(days=20)}.get(kind)
    fields: dict[str, Any] = {
        "namespace": namespace,
        "custody": Custody.PUBLISHER,
        "state": State.ACTIVE,
        "fingerprint": made.fingerprint,
        "key_id": made.key_id,
        "armor": made.armor,
        "algorithm": kind,
        "expires_at": timezone.now() + ends if ends else None,
    }
    return SigningKey.objects.create(**{**fields, **more})
