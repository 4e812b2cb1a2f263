"""What the routes of mails name: the links in them, and a connection that owners are told of."""

from typing import Any

from django.core import signing

from apps.notify.mail import mailing, preferences
from tests.builders.connecting import connect_all

NOWHERE = {
    "address": "nowhere/vpc/aws",
    "mail_token": "forged",
    "address_token": "forged",
    "connection_kind": "webhook",
    "connection_id": 0,
}


def place(namespace, owner):
    return {
        "address": f"{namespace.name}/vpc/aws",
        "mail_token": signing.dumps([owner.user_id, "published"], salt=mailing.SALT),
        "address_token": signing.dumps([owner.user_id, "dora@acme.example"], salt=preferences.CONFIRM_SALT),
    }


def connection(namespace, owner) -> dict[str, Any]:
    """A connection, where no room names one of its own."""
    kind, row = next(iter(connect_all(namespace, owner, "policy").items()), ("webhook", None))
    return {"connection_kind": kind, "connection_id": row.pk if row else 0}


def bodies():
    return {
        ("portal:mail", "POST"): {"data": {"topics": ["published"], "digest": "on"}},
        ("portal:mail-address", "POST"): {"data": {"address": "cook@acme.example"}},
        ("portal:watch", "POST"): {"data": {"on": "1"}},
    }
