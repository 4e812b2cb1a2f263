"""The shapes of answers about webhooks."""

from typing import Any

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    ListField,
    Serializer,
)

from apps.api.frame.shapes import Page
from apps.notify.events import EVENTS
from apps.notify.models import Shape, State


class Webhook(Serializer[Any]):
    id = IntegerField()
    namespace = CharField(allow_null=True, help_text="null if it is told of all namespaces.")
    url = CharField()
    events = ListField(child=ChoiceField(choices=list(EVENTS)))
    shape = ChoiceField(choices=Shape.values)
    by = CharField(allow_null=True)
    created_at = DateTimeField()
    enabled = BooleanField()
    disabled_at = DateTimeField(allow_null=True)
    disabled_reason = CharField()
    failing_since = DateTimeField(allow_null=True, help_text="The first failure since the last success.")


class WebhookPage(Page):
    webhooks = Webhook(many=True)


class NewWebhook(Webhook):
    secret = CharField(help_text="For checking signatures, in this answer alone.")


class Delivery(Serializer[Any]):
    id = IntegerField()
    message_id = CharField(help_text="The header webhook-id, the same in every attempt.")
    event = CharField()
    subject = CharField()
    state = ChoiceField(choices=State.values)
    attempts = IntegerField()
    created_at = DateTimeField()
    tried_at = DateTimeField(allow_null=True, help_text="The last attempt.")
    next_at = DateTimeField(allow_null=True, help_text="The next attempt.")
    status = IntegerField(allow_null=True, help_text="Of the last answer.")
    error = CharField(help_text="Why the last attempt failed, or empty.")
    answer = CharField(help_text="The first 4,096 bytes of the last answer.")
    body = CharField(help_text="The JSON that is sent, as text.")


class DeliveryPage(Page):
    deliveries = Delivery(many=True)
