"""/api/v1/upstreams/<host>/alarms, keys and unsigned: what waits for staff, and what they decide about keys."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, IntegerField, JSONField

from apps.accounts.access import operators
from apps.api.frame.base import ApiView, DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import MomentField, Shape, page
from apps.contrib.mirror import models
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import AlarmKind, AlarmState, Allows, KeyState
from apps.contrib.mirror.records import alarms, trust
from apps.lib.errors import Invalid


class UpstreamReason(serializers.Serializer[Any]):
    # `trust.checked_reason` limits the length, with the same error on every way in.

    reason = serializers.CharField(allow_blank=True)


class KeyDecision(UpstreamReason):
    trusted = serializers.BooleanField()


class AllowanceDecision(UpstreamReason):
    allows = serializers.ChoiceField(
        choices=Allows.values,
        default=Allows.NO_KEY.value,
        help_text="weak_signature: made with SHA-1 or in text mode, which clients accept.",
    )


class Alarm(Shape):
    id = IntegerField(source="pk")
    kind = ChoiceField(choices=AlarmKind.values)
    state = ChoiceField(choices=AlarmState.values)
    host = CharField(source="upstream.host")
    subject = CharField()
    known = DictField(child=JSONField(), help_text="What Larder verified earlier: a fingerprint, a digest or a list.")
    found = DictField(child=JSONField(), help_text="The same fields, as the registry offers them now.")
    url = CharField()
    raised_at = MomentField()
    seen_at = MomentField(help_text="When it was last seen.")
    times = IntegerField()
    can_be_accepted = BooleanField()
    resolved_at = MomentField(allow_null=True)
    resolved_by = CharField(source="resolved_by.username", allow_null=True)
    reason = CharField()

    def can_be_accepted_of(self, alarm: models.Alarm) -> bool:
        return alarms.may_accept(alarm)


class UpstreamKey(Shape):
    id = IntegerField(source="pk")
    namespace = CharField()
    type = CharField(source="provider.type", allow_null=True, help_text="Provider to which the key belongs.")
    fingerprint = CharField()
    state = ChoiceField(choices=KeyState.values)
    source = CharField(help_text="What the registry says about the key.")  # type: ignore[assignment]  # a field's name
    ascii_armor = CharField(source="armor")
    first_seen_at = MomentField()
    decided_at = MomentField(allow_null=True)
    decided_by = CharField(source="decided_by.username", allow_null=True)
    reason = CharField()
    versions = IntegerField(source="version_count", help_text="Number of versions that it verified.")


class UnsignedNamespace(Shape):
    namespace = CharField()
    allows = ChoiceField(choices=Allows.values)
    reason = CharField()
    by = CharField(source="created_by.username", allow_null=True)
    created_at = MomentField()


class OfUpstream(ApiView):
    def upstream(self, permission: str = upstreams.VIEW) -> models.Upstream:
        """Raises what the gate raises."""
        operators.require_everywhere(self.viewer, permission)
        return upstreams.upstream_for(self.viewer, self.kwargs["host"])


class AlarmList(OfUpstream, ListView):
    get = listed(
        "List alarms, the open ones first (staff)",
        page("AlarmPage", alarms=Alarm(many=True)),
        query={"state": "Only those in this state."},
        choices={"state": AlarmState.values},
        scope="manage",
    )

    def rows(self, **_: Any) -> QuerySet[models.Alarm]:
        state = self.text("state")
        if state and state not in AlarmState.values:
            raise Invalid(f"There is no state {state!r}.", hint=f"Use one of {', '.join(AlarmState.values)}.")
        return alarms.alarms_of(self.upstream(), state=state)


class AlarmDetail(OfUpstream, DetailView):
    get = shown("Show an alarm (staff)", Alarm, scope="manage")

    def row(self, alarm_id: int, **_: Any) -> models.Alarm:
        return alarms.alarm_of(alarm_id, self.upstream())


class Decide(OfUpstream):
    verb: Callable[..., None]

    @operation("Decide about an alarm (staff)", takes=UpstreamReason, answers={200: Alarm}, again="409.")
    def post(self, request: Request, host: str, alarm_id: int) -> Response:  # noqa: ARG002
        """Accepted, what was found is trusted from now on; dismissed, what was known stays. The reason is audited."""
        row = alarms.alarm_of(alarm_id, self.upstream(upstreams.OPERATE))
        type(self).verb(row, actor=self.viewer, reason=self.body()["reason"])
        return self.answer(alarms.alarm_of(alarm_id))


class Accept(Decide):
    verb = staticmethod(alarms.accept)


class Dismiss(Decide):
    verb = staticmethod(alarms.dismiss)


class KeyList(OfUpstream, ListView):
    get = listed(
        "List the keys of a mirrored registry, undecided ones first (staff)",
        page("UpstreamKeyPage", keys=UpstreamKey(many=True)),
        scope="manage",
    )

    def rows(self, **_: Any) -> QuerySet[models.KeyPin]:
        return trust.pins_of(self.upstream())


class KeyDetail(OfUpstream, DetailView):
    get = shown("Show a key of a mirrored registry (staff)", UpstreamKey, scope="manage")

    def row(self, pin_id: int, **_: Any) -> models.KeyPin:
        return trust.pin_of(self.upstream(), pin_id)

    @operation("Trust or refuse a key (staff)", takes=KeyDecision, answers={200: UpstreamKey}, again="409.")
    def post(self, request: Request, host: str, pin_id: int) -> Response:  # noqa: ARG002
        """Its alarm is resolved. Versions that it verified before stay as they are."""
        upstream, wanted = self.upstream(upstreams.OPERATE), self.body()
        pin = trust.pin_of(upstream, pin_id)
        trust.decide_key(pin, actor=self.viewer, is_trusted=wanted["trusted"], reason=wanted["reason"])
        return self.answer(trust.pin_of(upstream, pin_id))


class UnsignedList(OfUpstream, ListView):
    get = listed(
        "List namespaces that are allowed without a key or with weak signatures (staff)",
        page("UnsignedNamespacePage", namespaces=UnsignedNamespace(many=True)),
        scope="manage",
    )

    def rows(self, **_: Any) -> QuerySet[models.UnsignedAllowance]:
        return trust.allowances_of(self.upstream())


class UnsignedDetail(OfUpstream):
    @operation(
        "Allow a namespace without a key or with weak signatures (staff)",
        takes=AllowanceDecision,
        answers={200: UnsignedNamespace},
        idempotent=False,
        again="Renews it, with the new reason.",
    )
    def put(self, request: Request, host: str, mirrored_namespace: str) -> Response:  # noqa: ARG002
        """Without a key no signature is checked; one with SHA-1 or in text mode is, and proves less."""
        upstream, name = self.upstream(upstreams.OPERATE), upstreams.checked_namespace(mirrored_namespace)
        wanted = self.body()
        trust.allow_unsigned(upstream, name, actor=self.viewer, reason=wanted["reason"], allows=wanted["allows"])
        return self.answer(trust.allowance_of(upstream, name, wanted["allows"]))


class UnsignedWithdraw(OfUpstream):
    @operation(
        "Refuse a namespace without a key or with weak signatures again (staff)",
        takes=AllowanceDecision,
        answers={204: None},
        again="404.",
    )
    def post(self, request: Request, host: str, mirrored_namespace: str) -> Response:  # noqa: ARG002
        """Withdraw the decision: what is stored stays; new versions of that kind are refused."""
        upstream, wanted = self.upstream(upstreams.OPERATE), self.body()
        trust.withdraw_unsigned(
            upstream, mirrored_namespace, actor=self.viewer, reason=wanted["reason"], allows=wanted["allows"]
        )
        return self.answer(status=HTTPStatus.NO_CONTENT)


_ONE = "upstreams/<segment:host>"
urlpatterns = [
    path(f"{_ONE}/alarms", AlarmList.as_view(), name="upstream-alarms"),
    path(f"{_ONE}/alarms/<int:alarm_id>", AlarmDetail.as_view(), name="upstream-alarm"),
    path(f"{_ONE}/alarms/<int:alarm_id>/accept", Accept.as_view(), name="upstream-alarm-accept"),
    path(f"{_ONE}/alarms/<int:alarm_id>/dismiss", Dismiss.as_view(), name="upstream-alarm-dismiss"),
    path(f"{_ONE}/keys", KeyList.as_view(), name="upstream-keys"),
    path(f"{_ONE}/keys/<int:pin_id>", KeyDetail.as_view(), name="upstream-key"),
    path(f"{_ONE}/unsigned", UnsignedList.as_view(), name="upstream-unsigned"),
    path(f"{_ONE}/unsigned/<segment:mirrored_namespace>", UnsignedDetail.as_view(), name="upstream-unsigned-namespace"),
    path(
        f"{_ONE}/unsigned/<segment:mirrored_namespace>/withdraw",
        UnsignedWithdraw.as_view(),
        name="upstream-unsigned-withdraw",
    ),
]
