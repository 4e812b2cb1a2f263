"""What the routes of webhooks name: one of the namespace, one of the site, with deliveries."""

import json
from typing import Any

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import ConnectionChange
from apps.contrib.webhooks import hooks
from apps.notify.models import Delivery, State

URL = "https://hooks.acme.example/larder"
NOWHERE = {"webhook_id": 0, "delivery_id": 0, "site_webhook_id": 0, "site_delivery_id": 0}


def place(namespace, users):
    found = placed(namespace, Viewer(users["dora"]), Viewer(users["olga"]))
    # Changed by an account that was deleted: whoever confirms the webhook changes something.
    ConnectionChange.objects.create(kind="webhook", number=found["webhook_id"], user=None)
    return found | {"connection_kind": "webhook", "connection_id": found["webhook_id"]}


def placed(namespace, owner, operator):
    found: dict[str, Any] = {}
    for prefix, where, actor in (("", namespace, owner), ("site_", None, operator)):
        hook, _ = hooks.create(namespace=where, url=URL, events=["release.published"], actor=actor)
        delivery = Delivery.objects.create(
            webhook=hook,
            message_id=f"msg_{hook.pk}",
            event="release.published",
            subject=f"{namespace.name}/vpc/aws 1.0.0",
            body='{"type":"release.published"}',
            state=State.FAILED,
            attempts=9,
            error="no answer within 10 s",
            next_at=timezone.now(),
            ended_at=timezone.now(),
        )
        found |= {f"{prefix}webhook_id": hook.pk, f"{prefix}delivery_id": delivery.pk}
    return found


def bodies():
    made = {"url": URL, "events": ["release.published", "release.yanked"]}
    found: dict[tuple[str, str], Any] = {}
    for name in ("webhook", "site-webhook"):
        found |= {
            (f"api:{name}s", "POST"): _json(made),
            (f"api:{name}", "PATCH"): _json({"events": ["release.yanked"]}),
            (f"portal:{name}-add", "POST"): {"data": made | {"shape": "standard"}},
            (f"portal:{name}-change", "POST"): {"data": made},
            (f"portal:{name}-switch", "POST"): {"data": {"on": "0"}},
        }
    return found


def _json(body):
    return {"data": json.dumps(body), "content_type": "application/json"}
