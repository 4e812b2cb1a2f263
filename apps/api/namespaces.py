"""/api/v1/namespaces, and one: PUT creates and changes, GET shows, DELETE deletes; PATCH sets quotas (staff)."""

from collections.abc import Collection, Iterator
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.access import gate
from apps.accounts.access.operators import is_operator, operated_namespace_and_role
from apps.accounts.models import BreakingChanges, Role, Visibility
from apps.accounts.models import Namespace as NamespaceModel
from apps.api.frame.base import DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import RoleField, Shape, With, page
from apps.lib.addresses import canonical
from apps.lib.errors import Invalid, NotFound
from apps.releases.publishing import quotas

_APPROVAL = ("requires_approval", "approval_needs_second_factor", "approval_needs_two_people")


class NamespaceInput(serializers.Serializer[Any]):
    visibility = serializers.ChoiceField(choices=Visibility.values)
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)
    introduction = serializers.CharField(
        required=False, allow_blank=True, max_length=namespaces.LONGEST_INTRODUCTION, help_text="Markdown."
    )
    breaking_changes = serializers.ChoiceField(choices=BreakingChanges.values, required=False)
    cooldown_hours = serializers.IntegerField(required=False, min_value=0, max_value=namespaces.LONGEST_COOLDOWN_HOURS)


class NamespaceChange(serializers.Serializer[Any]):
    """An omitted field stays unchanged. Owners set the rules, staff the quotas: null is the registry's default, 0 no
    limit.
    """

    breaking_changes = serializers.ChoiceField(choices=BreakingChanges.values, required=False)
    cooldown_hours = serializers.IntegerField(required=False, min_value=0, max_value=namespaces.LONGEST_COOLDOWN_HOURS)
    trusted_publishers_only = serializers.BooleanField(required=False)
    requires_approval = serializers.BooleanField(required=False)
    approval_needs_second_factor = serializers.BooleanField(required=False)
    approval_needs_two_people = serializers.BooleanField(required=False)
    quota_bytes = serializers.IntegerField(required=False, allow_null=True)
    quota_versions = serializers.IntegerField(required=False, allow_null=True)


class NamespaceNames(Shape):
    name = CharField()
    visibility = ChoiceField(choices=Visibility.values)
    description = CharField()


class NamespaceRow(NamespaceNames):
    role = RoleField(allow_null=True, help_text="The caller's role; null if they have none.")


class Usage(Shape):
    bytes = IntegerField()
    versions = IntegerField()


class Quota(Shape):
    bytes = IntegerField(allow_null=True)
    versions = IntegerField(allow_null=True)

    def bytes_of(self, used: quotas.Usage) -> int | None:
        return used.max_bytes or None

    def versions_of(self, used: quotas.Usage) -> int | None:
        return used.max_versions or None


class Namespace(NamespaceNames):
    introduction = CharField(help_text="“Start here” on its page, in Markdown.")
    breaking_changes = ChoiceField(
        choices=BreakingChanges.values,
        help_text="How to treat a version with breaking changes that is not a major version.",
    )
    cooldown_hours = IntegerField(
        help_text="Hours between publication and the time when clients see a release. A change applies to later "
        "releases."
    )
    trusted_publishers_only = BooleanField(help_text="Only CI can publish, through trusted publishers.")
    requires_approval = BooleanField(help_text="Each release needs the approval of someone who took no part in it.")
    approval_needs_second_factor = BooleanField(help_text="Approvers must enter their second factor again.")
    approval_needs_two_people = BooleanField(help_text="Each release from Git or CI needs two approvals.")
    role = RoleField(allow_null=True, help_text="The caller's role; null if they have none.")
    usage = Usage()
    quota = Quota(source="usage", help_text="The limits in force; null for none.")


def described(names: Collection[str] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the fields of namespaces for files that describe them: what PUT and PATCH set, such as the quotas that were
    set; an answer has the limits in force.
    """
    here = NamespaceModel.objects
    rows = here.order_by("canonical", "pk") if names is None else here.filter(name__in=names)
    fields = {"name", *NamespaceInput().fields, *NamespaceChange().fields}
    for row in rows.values(*fields).iterator():
        yield row["name"], row


class NamespaceList(ListView):
    """The namespaces that the caller may see, by name; `role` is theirs, null where visibility alone lets them read."""

    get = listed(
        "List the namespaces that the caller can see",
        page("NamespacePage", namespaces=NamespaceRow(many=True)),
        query={"q": "The start of a name, in any letter case."},
        public=True,
    )

    def rows(self) -> QuerySet[NamespaceModel]:
        rows = gate.visible_namespaces(self.viewer).annotate(role=gate.highest_role(self.viewer.user))
        return rows.filter(canonical__startswith=canonical(self.text("q"))).order_by("canonical", "pk")


class NamespaceDetail(DetailView):
    get = shown("Show a namespace", Namespace, public=True)

    def row(self, namespace: str) -> With:
        return _with_usage(*gate.namespace_and_role(self.viewer, namespace))

    @operation(
        "Create or change a namespace",
        takes=NamespaceInput,
        answers={200: Namespace, 201: Namespace},
        again="Applies the same change again.",
    )
    def put(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """201 if created (the caller owns it), 200 if changed; an omitted field stays unchanged."""
        try:
            target, role = gate.namespace_and_role(self.viewer, namespace)
        except NotFound:
            created = namespaces.create(name=namespace, actor=self.viewer, **self.body())
            return self.answer(_with_usage(created, gate.role_on(self.viewer, created)), HTTPStatus.CREATED)
        if role != Role.OWNER:
            gate.namespace_for(self.viewer, namespace, need=Role.OWNER)  # raises, and records the refusal
        namespaces.change(namespace=target, actor=self.viewer, **self.body())
        return self.answer(_with_usage(target, role))

    @operation(
        "Change the rules (owners) or quotas (staff) of a namespace",
        takes=NamespaceChange,
        answers={200: Namespace},
        again="Changes nothing.",
    )
    def patch(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        target, role = gate.namespace_and_role(self.viewer, namespace)
        if role != Role.OWNER and not is_operator(self.viewer):
            gate.namespace_for(self.viewer, namespace, need=Role.OWNER)  # raises, and records the refusal
        wanted = self.body()
        rules = {name: wanted.pop(name) for name in ("breaking_changes", "cooldown_hours") if name in wanted}
        only = wanted.pop("trusted_publishers_only", None)
        approval = {name: wanted.pop(name) for name in _APPROVAL if name in wanted}
        if wanted:
            operated_namespace_and_role(self.viewer, namespace, permission="accounts.change_namespace")
        elif not rules and not approval and only is None:
            raise Invalid("The request changes nothing.", hint=f"Send some of {', '.join(self.takes().fields)}.")
        if rules or approval or only is not None:
            gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        if only is not None:
            namespaces.require_trusted_publishers(namespace=target, required=only, actor=self.viewer)
        if approval:
            namespaces.require_approval(namespace=target, actor=self.viewer, **approval)
        with transaction.atomic():
            if rules:
                namespaces.change(namespace=target, actor=self.viewer, **rules)
            if wanted:
                namespaces.set_quotas(namespace=target, actor=self.viewer, **wanted)
        return self.answer(_with_usage(target, role))

    @operation("Delete an empty namespace", answers={204: None}, again="404.")
    def delete(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """Only an empty namespace. Its name stays reserved for its owners, who may create it again."""
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        namespace_deletion.delete(namespace=target, actor=self.viewer)
        return self.answer(status=HTTPStatus.NO_CONTENT)


def _with_usage(namespace: NamespaceModel, role: Role | None) -> With:
    """`role` is the caller's."""
    return With(namespace, role=role, usage=quotas.usage(namespace))


urlpatterns = [
    path("namespaces", NamespaceList.as_view(), name="namespaces"),
    path("namespaces/<segment:namespace>", NamespaceDetail.as_view(), name="namespace"),
]
