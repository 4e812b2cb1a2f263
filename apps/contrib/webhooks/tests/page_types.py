"""The page types of webhooks (see tests/browser/page_types.py)."""

from tests.browser.catalogue import SPACE

HOOK = {"namespace": SPACE, "webhook_id": lambda shelf: shelf.known["webhook_id"]}
SENT = {**HOOK, "delivery_id": lambda shelf: shelf.known["delivery_id"]}
SITE_HOOK = {"site_webhook_id": lambda shelf: shelf.known["site_webhook_id"]}
SITE_SENT = {**SITE_HOOK, "site_delivery_id": lambda shelf: shelf.known["site_delivery_id"]}
PAGES = {
    "webhooks": [({"namespace": SPACE}, "")],
    "webhook-add": [({"namespace": SPACE}, "")],
    "webhook": [(HOOK, "")],
    "webhook-change": [(HOOK, "")],
    "webhook-secret": [(HOOK, "")],
    "webhook-delete": [(HOOK, "")],
    "webhook-delivery": [(SENT, "")],
    "site-webhooks": [({}, "")],
    "site-webhook-add": [({}, "")],
    "site-webhook": [(SITE_HOOK, "")],
    "site-webhook-change": [(SITE_HOOK, "")],
    "site-webhook-secret": [(SITE_HOOK, "")],
    "site-webhook-delete": [(SITE_HOOK, "")],
    "site-webhook-delivery": [(SITE_SENT, "")],
}
NO_PAGES = {
    "webhook-rotate",
    "webhook-test",
    "webhook-switch",
    "site-webhook-rotate",
    "site-webhook-test",
    "site-webhook-switch",
}
