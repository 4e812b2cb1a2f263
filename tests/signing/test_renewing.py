"""A key whose owner has extended it is registered again: the row follows, and nothing that it signed is lost."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.lib.errors import Conflict
from apps.signing import key_generation, keys
from apps.signing.models import PrivateKey, SigningKey, State
from apps.signing.signer import sign
from apps.signing.verifying import verify
from tests.builders.held import key_row
from tests.builders.keys import extended, signing_key
from tests.rows import for_each_row

YEAR = timedelta(days=365)


def renewals() -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(kind="namespace:key:renewed"))


def test_an_extended_key_gets_its_new_end_and_an_older_copy_changes_nothing(acme: Namespace, owner: Viewer) -> None:
    made = signing_key("expiring")
    longer = extended(made)
    first, is_new = keys.register_or_renew(namespace=acme, armor=made.armor, actor=owner, source="Acme")
    assert is_new
    assert keys.register_or_renew(namespace=acme, armor=longer.armor, actor=owner) == (first, False)
    row = SigningKey.objects.get()
    assert row.expires_at is not None
    assert row.expires_at > timezone.now() + YEAR
    assert (row.source, row.state) == ("Acme", State.ACTIVE)
    (event,) = renewals()
    assert (event.subject, event.actor_id, event.detail["fingerprint"]) == ("acme", owner.user_id, made.fingerprint)
    assert event.detail["expired_at"] < event.detail["expires_at"]

    for old in (made.armor, longer.armor):
        with pytest.raises(Conflict, match="already registered in acme; it is active"):
            keys.register_or_renew(namespace=acme, armor=old, actor=owner)
    kept = SigningKey.objects.get()
    assert (kept.armor, kept.expires_at) == (row.armor, row.expires_at)
    assert len(renewals()) == 1


def test_one_that_had_expired_vouches_again(acme: Namespace, owner: Viewer) -> None:
    made = signing_key("expired")
    key = key_row(acme, "expired")
    assert keys.vouching_keys_of(acme) == []

    keys.register_or_renew(namespace=acme, armor=extended(made).armor, actor=owner)

    assert keys.vouching_keys_of(acme) == [key]
    key.refresh_from_db()
    assert verify(data=b"data", signature=made.sign(b"data"), keys=[key]) == key


def test_a_subkey_that_the_new_export_leaves_out_goes_on(acme: Namespace, owner: Viewer) -> None:
    made = signing_key("subkey")
    key, _ = keys.register_or_renew(namespace=acme, armor=made.armor, actor=owner)
    signature = made.sign(b"data")

    keys.register_or_renew(namespace=acme, armor=extended(made).armor, actor=owner)

    key.refresh_from_db()
    assert verify(data=b"data", signature=signature, keys=[key]) == key


@pytest.mark.both
@for_each_row("end", [keys.retire, keys.revoke], ids=["retired", "revoked"])
def test_a_key_that_has_ended_here_is_not_brought_back(end, acme: Namespace, owner: Viewer) -> None:
    made = signing_key("expiring")
    key, _ = keys.register_or_renew(namespace=acme, armor=made.armor, actor=owner)
    end(key=key, actor=owner, reason="Its year is over.")

    with pytest.raises(Conflict, match=r"it is re(tired|voked)\."):
        keys.register_or_renew(namespace=acme, armor=extended(made).armor, actor=owner)
    assert renewals() == []


@pytest.mark.slow
def test_a_key_that_the_registry_holds_is_renewed_by_its_import_alone(
    acme: Namespace, owner: Viewer, worker_host: None
) -> None:
    made = signing_key("expiring")
    longer = extended(made)
    held = key_generation.import_key(namespace=acme, material=made.secret_armor.encode(), passphrase="", actor=NOBODY)
    with pytest.raises(Conflict):
        keys.register_or_renew(namespace=acme, armor=longer.armor, actor=owner)

    again = key_generation.import_key(
        namespace=acme, material=longer.secret_armor.encode(), passphrase="", actor=NOBODY
    )

    assert again == held
    assert again.expires_at is not None
    assert again.expires_at > timezone.now() + YEAR
    assert PrivateKey.objects.count() == 1
    assert verify(data=b"data", signature=sign(key=again, data=b"data"), keys=[again]) == again
    assert len(renewals()) == 1
    with pytest.raises(Conflict, match="already"):
        key_generation.import_key(namespace=acme, material=longer.secret_armor.encode(), passphrase="", actor=NOBODY)
