"""Signing keys in the admin: retired and revoked with a reason by the verbs, and never a private half."""

import pytest
from django.contrib import admin

from apps.audit.models import AuditEvent
from apps.signing.models import PrivateKey, SigningKey
from tests.admin.lists import ask, list_of, page_of, run
from tests.admin.releases import provider_rows
from tests.rows import for_each_row


@pytest.fixture
def keys(db):
    provider_rows.make(0, 3)
    return list(SigningKey.objects.order_by("pk"))


def do(client, act, *rows, reason):
    return run(client, act, *rows, apply="1", reason=reason)


def states():
    return list(SigningKey.objects.order_by("pk").values_list("state", flat=True))


@for_each_row("act", ["retire", "revoke"])
def test_each_act_asks_first_says_how_much_was_signed_and_calls_its_verb(operator_client, keys, olga, act):
    page = ask(operator_client, act, *keys[:2])
    assert page.status_code == 200
    assert 'name="reason"' in page.text
    assert "kitchen1" in page.text
    assert [cells[-1] for _, cells in page.context["shown"]] == [1, 1]
    assert do(operator_client, act, keys[0], reason="  ").context["form"].errors["reason"]
    assert states() == ["active"] * 3

    page = do(operator_client, act, *keys[:2], reason="Their laptops\nwere stolen.")

    assert "d: 2." in page.text
    assert states() == [f"{act}d", f"{act}d", "active"]
    assert {key.reason for key in SigningKey.objects.exclude(state="active")} == {"Their laptops were stolen."}
    assert AuditEvent.objects.filter(kind=f"namespace:key:{act}d", actor_id=olga.pk).count() == 2


def test_a_refusal_is_shown_and_the_others_go_on(operator_client, keys):
    do(operator_client, "revoke", keys[0], reason="It leaked.")
    page = do(operator_client, "retire", *keys[:2], reason="Too old.")

    assert "is revoked: only one that is active" in page.text
    assert states() == ["revoked", "retired", "active"]


def test_the_private_half_is_on_no_page(operator_client, keys):
    PrivateKey.objects.create(key=keys[0], nonce=b"n" * 12, ciphertext=b"sealed-bytes", kek_id="which-kek")

    assert PrivateKey not in admin.site._registry
    for page in (list_of(SigningKey), page_of(keys[0])):
        text = operator_client.get(page).text
        assert "sealed" not in text
        assert "which-kek" not in text
