"""/api/v1/namespaces/<ns>/webhooks for owners, and /api/v1/webhooks (told of every namespace) for operators."""

from http import HTTPStatus
from typing import Any

from django.urls import path
from django.views.decorators.debug import sensitive_variables
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate, operators
from apps.accounts.models import Namespace, Role
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of
from apps.api.notify import answers
from apps.lib.errors import NotFound
from apps.lib.net.outgoing import MAX_URL_CHARACTERS
from apps.notify import webhooks
from apps.notify.events import EVENTS
from apps.notify.models import Delivery, Shape, State, Webhook
from apps.releases.catalogue.documents import moment

NO_STORE = {"Cache-Control": "no-store"}


class WebhookInput(serializers.Serializer[Any]):
    url = serializers.CharField(max_length=MAX_URL_CHARACTERS)
    events = serializers.ListField(child=serializers.ChoiceField(choices=list(EVENTS)), max_length=len(EVENTS))
    shape = serializers.ChoiceField(required=False, choices=Shape.values)


class WebhookChange(serializers.Serializer[Any]):
    url = serializers.CharField(required=False, max_length=MAX_URL_CHARACTERS)
    events = serializers.ListField(
        required=False, child=serializers.ChoiceField(choices=list(EVENTS)), max_length=len(EVENTS)
    )
    enabled = serializers.BooleanField(required=False)


def webhook_document(hook: Webhook) -> dict[str, Any]:
    return {
        "id": hook.pk,
        "namespace": hook.namespace.name if hook.namespace else None,
        "url": hook.url,
        "events": hook.events,
        "shape": hook.shape,
        "by": hook.created_by.shown_name if hook.created_by else None,
        "created_at": moment(hook.created_at),
        "enabled": hook.disabled_at is None,
        "disabled_at": moment(hook.disabled_at),
        "disabled_reason": hook.disabled_reason,
        "failing_since": moment(hook.failing_since),
    }


def delivery_document(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.pk,
        "message_id": delivery.message_id,
        "event": delivery.event,
        "subject": delivery.subject,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "created_at": moment(delivery.created_at),
        "tried_at": moment(delivery.tried_at),
        "next_at": moment(delivery.next_at) if delivery.state == State.WAITING else None,
        "status": delivery.status,
        "error": delivery.error,
        "answer": delivery.answer,
        "body": delivery.body,
    }


class HookView(ApiView):
    """A view for both: where the path names no namespace, the webhooks are site-wide."""

    def place(self) -> Namespace | None:
        """Raises what the gate raises."""
        self.require_token()
        if "namespace" in self.kwargs:
            return gate.namespace_for(self.viewer, self.kwargs["namespace"], need=Role.OWNER)
        operators.require_everywhere(self.viewer, gate.OPERATE)
        return None

    def hook(self) -> Webhook:
        place = self.place()
        return webhooks.webhook_of(place, self.kwargs.get("webhook_id") or self.kwargs.get("site_webhook_id", 0))


class WebhookList(HookView):
    http_method_names = ["get", "head", "post"]

    @operation("List webhooks", answers={200: answers.WebhookPage}, query=CURSOR, scope="manage")
    def get(self, request: Request, **_: Any) -> Response:
        return Response(page_of(request, "webhooks", webhooks.of(self.place()), webhook_document))

    @operation(
        "Create a webhook",
        takes=WebhookInput,
        answers={201: answers.NewWebhook},
        again="Creates another one.",
        scope="manage",
    )
    @sensitive_variables("secret")
    def post(self, request: Request, **_: Any) -> Response:
        """`secret` is in this answer alone. `shape` is `standard` if it is left out."""
        place = self.place()
        wanted = validated(WebhookInput, read_json(request))
        hook, secret = webhooks.create(namespace=place, actor=self.viewer, **wanted)
        document = webhook_document(hook) | {"secret": secret}
        return Response(document, status=HTTPStatus.CREATED, headers=NO_STORE)


class WebhookDetail(HookView):
    http_method_names = ["get", "head", "patch", "delete"]

    @operation("Show a webhook", answers={200: answers.Webhook}, scope="manage")
    def get(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        return Response(webhook_document(self.hook()))

    @operation(
        "Change a webhook",
        takes=WebhookChange,
        answers={200: answers.Webhook},
        again="200.",
        scope="manage",
        idempotent=True,
    )
    def patch(self, request: Request, **_: Any) -> Response:
        """Fields that are left out stay. `enabled` switches it off and on; what happened meanwhile is not sent."""
        hook = self.hook()
        webhooks.change(hook=hook, actor=self.viewer, **validated(WebhookChange, read_json(request)))
        return Response(webhook_document(hook))

    @operation("Delete a webhook", answers={204: None}, again="404.", scope="manage", idempotent=True)
    def delete(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """With the log of its deliveries."""
        webhooks.delete(hook=self.hook(), actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


class Rotate(HookView):
    http_method_names = ["post"]

    @operation(
        "Exchange the secret of a webhook",
        answers={200: answers.NewWebhook},
        again="Makes another secret; only the last two sign.",
        scope="manage",
    )
    @sensitive_variables("secret")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """For 24 hours the former secret signs as well."""
        hook = self.hook()
        secret = webhooks.rotate(hook=hook, actor=self.viewer)
        return Response(webhook_document(hook) | {"secret": secret}, headers=NO_STORE)


class Test(HookView):
    http_method_names = ["post"]

    @operation("Send a test", answers={202: answers.Delivery}, again="409 until the first was sent.", scope="manage")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """A worker sends the event `webhook.test` within seconds; the log tells how it ended."""
        delivery = webhooks.test(hook=self.hook(), actor=self.viewer)
        return Response(delivery_document(delivery), status=HTTPStatus.ACCEPTED)


class Deliveries(HookView):
    http_method_names = ["get", "head"]

    @operation("List deliveries, newest first", answers={200: answers.DeliveryPage}, query=CURSOR, scope="manage")
    def get(self, request: Request, **_: Any) -> Response:
        return Response(page_of(request, "deliveries", webhooks.deliveries_of(self.hook()), delivery_document))


class Redeliver(HookView):
    http_method_names = ["post"]

    @operation("Send a delivery again", answers={202: answers.Delivery}, again="409 until it was sent.", scope="manage")
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """With the same `webhook-id` and body, and a new signature."""
        hook = self.hook()
        number = self.kwargs.get("delivery_id") or self.kwargs.get("site_delivery_id", 0)
        delivery = webhooks.deliveries_of(hook).select_related("webhook__namespace").filter(pk=number).first()
        if delivery is None:
            raise NotFound("There is no such delivery here.", hint="The log of the webhook has the others.")
        webhooks.redeliver(delivery=delivery, actor=self.viewer)
        return Response(delivery_document(delivery), status=HTTPStatus.ACCEPTED)


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
