"""/api/v1/namespaces/<ns>/webhooks for owners, and /api/v1/webhooks (told of every namespace) for operators."""

from collections.abc import Collection, Iterator
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.accounts.access import gate, operators
from apps.accounts.models import Namespace, Role
from apps.api.frame.base import DRY_RUN, ApiView, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import Consequences, MomentField, Shape, With, page
from apps.contrib.webhooks import hooks
from apps.contrib.webhooks.impact import of_webhook
from apps.lib.errors import NotFound
from apps.lib.net.addresses import MAX_URL_CHARACTERS
from apps.notify import models
from apps.notify.events import EVENTS

NO_STORE = {"Cache-Control": "no-store"}


class WebhookInput(serializers.Serializer[Any]):
    url = serializers.CharField(max_length=MAX_URL_CHARACTERS)
    events = serializers.ListField(child=serializers.ChoiceField(choices=list(EVENTS)), max_length=len(EVENTS))
    shape = serializers.ChoiceField(required=False, choices=models.Shape.values)


class WebhookChange(serializers.Serializer[Any]):
    url = serializers.CharField(required=False, max_length=MAX_URL_CHARACTERS)
    events = serializers.ListField(
        required=False, child=serializers.ChoiceField(choices=list(EVENTS)), max_length=len(EVENTS)
    )
    enabled = serializers.BooleanField(required=False)


class Webhook(Shape):
    id = IntegerField(source="pk")
    namespace = CharField(
        source="namespace.name", allow_null=True, help_text="null if it receives the events of all namespaces."
    )
    url = CharField()
    events = ListField(child=ChoiceField(choices=list(EVENTS)))
    shape = ChoiceField(choices=models.Shape.values)
    by = CharField(source="created_by.shown_name", allow_null=True)
    created_at = MomentField()
    enabled = BooleanField()
    disabled_at = MomentField(allow_null=True)
    disabled_reason = CharField()
    suspended_at = MomentField(
        allow_null=True, help_text="Time when it was suspended. Nothing is sent until an owner confirms it."
    )
    suspended_reason = CharField()
    failing_since = MomentField(allow_null=True, help_text="The first failure since the last success.")

    def enabled_of(self, hook: models.Webhook) -> bool:
        return hook.disabled_at is None


class NewWebhook(Webhook):
    secret = CharField(help_text="For verifying signatures. Returned only in this response.")


class Delivery(Shape):
    id = IntegerField(source="pk")
    message_id = CharField(help_text="The header webhook-id, the same in every attempt.")
    event = CharField()
    subject = CharField()
    state = ChoiceField(choices=models.State.values)
    attempts = IntegerField()
    created_at = MomentField()
    tried_at = MomentField(allow_null=True, help_text="The last attempt.")
    next_at = MomentField(allow_null=True, help_text="The next attempt.")
    status = IntegerField(allow_null=True, help_text="HTTP status of the last response.")
    error = CharField(help_text="Why the last attempt failed, or empty.")
    answer = CharField(help_text="The first 4,096 bytes of the last response.")
    body = CharField(help_text="The JSON body, as text.")

    def next_at_of(self, delivery: models.Delivery) -> datetime | None:
        return delivery.next_at if delivery.state == models.State.WAITING else None


def described(names: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of the webhooks of these namespaces for files that describe them."""
    return _described(hooks.rows().filter(namespace__name__in=names))


def described_everywhere(_: object) -> Iterator[tuple[str, dict[str, Any]]]:
    return _described(hooks.of(None))


def _described(rows: QuerySet[models.Webhook]) -> Iterator[tuple[str, dict[str, Any]]]:
    for hook in rows.select_related("namespace").iterator():
        place, enabled = hook.namespace.name if hook.namespace else "", hook.disabled_at is None
        yield place, {"id": hook.pk, "url": hook.url, "events": hook.events, "shape": hook.shape, "enabled": enabled}


class HookView(ApiView):
    """A view for both: where the path names no namespace, the webhooks are site-wide."""

    def place(self) -> Namespace | None:
        """Raises what the gate raises."""
        if "namespace" in self.kwargs:
            return gate.namespace_for(self.viewer, self.kwargs["namespace"], need=Role.OWNER)
        operators.require_everywhere(self.viewer, gate.OPERATE)
        return None

    def hook(self) -> models.Webhook:
        place = self.place()
        return hooks.webhook_of(place, self.kwargs.get("webhook_id") or self.kwargs.get("site_webhook_id", 0))


class WebhookList(HookView, ListView):
    get = listed("List webhooks", page("WebhookPage", webhooks=Webhook(many=True)), scope="manage")

    def rows(self, **_: Any) -> QuerySet[models.Webhook]:
        return hooks.of(self.place())

    @operation("Create a webhook", takes=WebhookInput, answers={201: NewWebhook}, again="Creates another one.")
    @sensitive_variables("secret")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """`secret` is in this answer alone. `shape` is `standard` if it is left out."""
        place = self.place()
        hook, secret = hooks.create(namespace=place, actor=self.viewer, **self.body())
        return self.answer(With(hook, secret=secret), HTTPStatus.CREATED, headers=NO_STORE)


class WebhookDetail(HookView, DetailView):
    get = shown("Show a webhook", Webhook, scope="manage")

    def row(self, **_: Any) -> models.Webhook:
        return self.hook()

    @operation("Change a webhook", takes=WebhookChange, answers={200: Webhook}, again="200.")
    def patch(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """Fields that are left out stay. `enabled` switches it off and on; what happened meanwhile is not sent."""
        hook = self.hook()
        hooks.change(hook=hook, actor=self.viewer, **self.body())
        return self.answer(hook)

    @operation("Delete a webhook", answers={200: Consequences, 204: None}, query=DRY_RUN, again="404.")
    def delete(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """With the log of its deliveries."""
        hook = self.hook()
        if self.is_dry_run():
            return self.answer(of_webhook(hook))
        hooks.delete(hook=hook, actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


class Rotate(HookView):
    @operation(
        "Rotate the secret of a webhook",
        answers={200: NewWebhook},
        again="Creates another secret; only the last two sign.",
    )
    @sensitive_variables("secret")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """For 24 hours the former secret signs as well."""
        hook = self.hook()
        secret = hooks.rotate(hook=hook, actor=self.viewer)
        return self.answer(With(hook, secret=secret), headers=NO_STORE)


class Test(HookView):
    @operation("Send a test", answers={202: Delivery}, again="409 until the first was sent.")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """A worker sends the event `webhook.test` within seconds; the log tells how it ended."""
        delivery = hooks.test(hook=self.hook(), actor=self.viewer)
        return self.answer(delivery, HTTPStatus.ACCEPTED)


class Deliveries(HookView, ListView):
    get = listed("List deliveries, newest first", page("DeliveryPage", deliveries=Delivery(many=True)), scope="manage")

    def rows(self, **_: Any) -> QuerySet[models.Delivery]:
        return hooks.deliveries_of(self.hook())


class Redeliver(HookView):
    @operation("Send a delivery again", answers={202: Delivery}, again="409 until it was sent.")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """With the same `webhook-id` and body, and a new signature."""
        hook = self.hook()
        number = self.kwargs.get("delivery_id") or self.kwargs.get("site_delivery_id", 0)
        delivery = hooks.deliveries_of(hook).select_related("webhook__namespace").filter(pk=number).first()
        if delivery is None:
            raise NotFound("This webhook has no such delivery.", hint="See the webhook's log.")
        hooks.redeliver(delivery=delivery, actor=self.viewer)
        return self.answer(delivery, HTTPStatus.ACCEPTED)


def _routes(prefix: str, name: str, number: str, delivery: str) -> list[Any]:
    one = f"{prefix}/<int:{number}>"
    return [
        path(prefix, WebhookList.as_view(), name=f"{name}s"),
        path(one, WebhookDetail.as_view(), name=name),
        path(f"{one}/rotate", Rotate.as_view(), name=f"{name}-rotate"),
        path(f"{one}/test", Test.as_view(), name=f"{name}-test"),
        path(f"{one}/deliveries", Deliveries.as_view(), name=f"{name}-deliveries"),
        path(f"{one}/deliveries/<int:{delivery}>/redeliver", Redeliver.as_view(), name=f"{name}-redeliver"),
    ]


urlpatterns = [
    *_routes("namespaces/<segment:namespace>/webhooks", "webhook", "webhook_id", "delivery_id"),
    *_routes("webhooks", "site-webhook", "site_webhook_id", "site_delivery_id"),
]
