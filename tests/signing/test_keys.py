"""The verbs on keys: each writes its audit row, none deletes, and the same key is registered once."""

import pytest

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Namespace
from apps.audit.models import AuditEvent
from apps.lib.errors import Conflict, Invalid
from apps.signing import keys
from apps.signing.models import Custody, SigningKey, State
from tests.builders.held import held_key, key_row
from tests.builders.keys import signing_key
from tests.rows import for_each_row


def events() -> list[str]:
    return list(
        AuditEvent.objects.filter(kind__startswith="namespace:key:").order_by("pk").values_list("kind", flat=True)
    )


def test_registering_keeps_what_was_parsed(acme: Namespace, owner: Viewer) -> None:
    made = signing_key()
    key, _ = keys.register_or_renew(
        namespace=acme, armor=made.armor, actor=owner, source=" Acme ", source_url="https://acme.example/security"
    )
    key.refresh_from_db()
    assert (key.fingerprint, key.custody, key.state) == (made.fingerprint, Custody.PUBLISHER, State.ACTIVE)
    assert (key.source, key.source_url, key.added_by) == ("Acme", "https://acme.example/security", owner.user)
    event = AuditEvent.objects.get(kind="namespace:key:registered")
    assert (event.subject, event.actor_id, event.detail["fingerprint"]) == ("acme", owner.user_id, made.fingerprint)


@pytest.mark.both
def test_the_same_key_again_is_a_conflict_and_elsewhere_it_is_fine(
    acme: Namespace, pantry: Namespace, owner: Viewer
) -> None:
    armor = signing_key().armor
    key, _ = keys.register_or_renew(namespace=acme, armor=armor, actor=owner)
    with pytest.raises(Conflict, match="already registered in acme; it is active"):
        keys.register_or_renew(namespace=acme, armor=armor, actor=owner)
    keys.register_or_renew(namespace=pantry, armor=armor, actor=owner)
    keys.revoke(key=key, actor=owner, reason="The laptop is gone.")
    with pytest.raises(Conflict, match="it is revoked"):
        keys.register_or_renew(namespace=acme, armor=armor, actor=owner)
    assert len(events()) == 3


@for_each_row(
    "words",
    [
        {"source": "x" * 101},
        {"source": "two\nlines"},
        {"source_url": "javascript:alert(1)"},
        {"source_url": "https://"},
        {"source_url": f"https://acme.example/{'x' * 300}"},
    ],
    ids=["long", "lines", "script", "no host", "long address"],
)
def test_it_refuses_sources_that_no_page_can_show(words: dict[str, str], acme: Namespace, owner: Viewer) -> None:
    with pytest.raises(Invalid):
        keys.register_or_renew(namespace=acme, armor=signing_key().armor, actor=owner, **words)
    assert not SigningKey.objects.exists()


def test_a_refused_key_leaves_nothing(acme: Namespace, owner: Viewer) -> None:
    with pytest.raises(Invalid, match="private key"):
        keys.register_or_renew(namespace=acme, armor=signing_key().secret_armor, actor=owner)
    assert not SigningKey.objects.exists()
    assert events() == []


def test_ends_go_one_way_and_have_a_reason(acme: Namespace, owner: Viewer) -> None:
    key = key_row(acme)
    for reason in ("", "  ", "x" * 501, "two\nlines"):
        with pytest.raises(Invalid):
            keys.retire(key=key, actor=owner, reason=reason)
    keys.retire(key=key, actor=owner, reason="The next one is in use.")
    key.refresh_from_db()
    assert (key.state, key.ended_by, key.reason) == (State.RETIRED, owner.user, "The next one is in use.")
    with pytest.raises(Conflict, match="is retired"):
        keys.retire(key=key, actor=owner, reason="Again.")
    keys.revoke(key=key, actor=owner, reason="It leaked.")
    with pytest.raises(Conflict, match="is revoked"):
        keys.revoke(key=key, actor=owner, reason="Again.")
    with pytest.raises(Conflict, match="is revoked"):
        keys.retire(key=key, actor=owner, reason="Back.")
    assert events() == ["namespace:key:retired", "namespace:key:revoked"]


@pytest.mark.both
def test_what_signs_is_the_newest_usable_key_of_the_registry(acme: Namespace, worker_host: None, owner: Viewer) -> None:
    assert keys.signing_key_of(acme) is None
    older, newer = held_key(acme), held_key(acme, "rsa2048")
    held_key(acme, "expired")
    key_row(acme, "foreign")
    key_row(acme, "nistp256", custody=Custody.REGISTRY)  # its private half is elsewhere
    assert keys.signing_key_of(acme) == newer
    keys.retire(key=newer, actor=owner, reason="Rotated.")
    assert keys.signing_key_of(acme) == older


def test_what_vouches_is_every_usable_key_of_publishers(acme: Namespace, pantry: Namespace, worker_host: None) -> None:
    first, second = key_row(acme), key_row(acme, "expiring")
    ended = [key_row(acme, "foreign", state=State.RETIRED), key_row(acme, "expired")]
    held_key(acme, "rsa2048")
    key_row(pantry, "nistp256")
    assert keys.vouching_keys_of(acme) == [second, first]
    assert set(keys.publisher_keys_of(acme)) == {first, second, *ended}


def test_only_known_algorithms_can_be_asked_for(acme: Namespace) -> None:
    for algorithm in ("rsa1024", "", "ed25519\n%commit"):
        with pytest.raises(Invalid, match="no key algorithm"):
            keys.request(namespace=acme, algorithm=algorithm, actor=NOBODY)
    assert not SigningKey.objects.exists()
