"""The rows of webhooks in the tables of the house tests (see tests/rooms.py)."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sealing
from apps.accounts.models import Namespace, User
from apps.contrib.webhooks import hooks
from apps.notify.models import Webhook

KIND = "webhook"
CONNECTION_PAGES = {KIND: "/webhooks/{number}"}
CONNECTION_NAMES = ("webhook to hooks.acme.example",)


def connect(namespace: Namespace, owner: User, name: str) -> Webhook:
    url = f"https://hooks.acme.example/{name}"
    return hooks.create(namespace=namespace, actor=Viewer(owner), url=url, events=["release.published"])[0]


CONNECTIONS = {KIND: connect}


def secrets(namespace: Namespace, owner: User) -> dict[str, Any]:
    """One of each kind, by what it is: how to read it, and what it says."""
    hook, former = hooks.create(
        namespace=namespace, url="https://ci.example/hook", events=["release.published"], actor=Viewer(owner)
    )
    newest = hooks.rotate(hook=hook, actor=Viewer(owner))

    def read(name: str) -> str:
        return sealing.unseal(getattr(Webhook.objects.get(), name), hooks.PURPOSE)

    return {
        "a webhook's secret": (lambda: read("sealed_secret"), newest),
        "a webhook's former secret": (lambda: read("former_secret"), former),
    }


# What the finder of a token creates with it: the noun, where, the body, and whether it has ended.
LOOT = [
    (
        KIND,
        "/webhooks",
        {"url": "https://hooks.evil.example/in", "events": ["release.published"]},
        lambda: Webhook.objects.get().disabled_at is not None,
    )
]


def a_webhook_fails(cast: Any) -> None:
    hooks.disable(_failing(cast.acme, cast.dora), "Every delivery of the last 5 days failed.")


def a_webhook_of_the_site_fails(cast: Any) -> None:
    hooks.disable(_failing(None, cast.olga), "Every delivery of the last 5 days failed.")


def _failing(namespace: Namespace | None, by: User) -> Webhook:
    return Webhook.objects.create(
        namespace=namespace,
        url="https://hooks.acme.example/x",
        events=["release.yanked"],
        created_by=by,
        failing_since=timezone.now() - timedelta(days=6),
    )


# Who sees a line that asks them to act, who is only told, and the buttons of their mails.
HAPPENINGS: list[Any] = [
    (a_webhook_fails, {"dora"}, set(), {"dora": "Fix the webhook"}),
    (a_webhook_of_the_site_fails, {"olga"}, set(), {"olga": "Fix the webhook"}),
]
