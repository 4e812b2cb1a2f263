"""/api/v1/namespaces/<ns>: PUT creates and changes, GET shows, DELETE deletes; PATCH sets quotas (staff)."""

from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.access import gate
from apps.accounts.access.operators import is_operator, operated_namespace_and_role
from apps.accounts.models import BreakingChanges, Namespace, Role, Visibility
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.lib.errors import Invalid, NotFound
from apps.releases.publishing import quotas


class NamespaceInput(serializers.Serializer[Any]):
    visibility = serializers.ChoiceField(choices=Visibility.values)
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)
    breaking_changes = serializers.ChoiceField(choices=BreakingChanges.values, required=False)


class NamespaceChange(serializers.Serializer[Any]):
    """An omitted field stays unchanged. Owners set `breaking_changes`, staff the quotas: null is the registry's
    default, 0 no limit.
    """

    breaking_changes = serializers.ChoiceField(choices=BreakingChanges.values, required=False)
    quota_bytes = serializers.IntegerField(required=False, allow_null=True)
    quota_versions = serializers.IntegerField(required=False, allow_null=True)


def namespace_document(namespace: Namespace, role: Role | None) -> dict[str, Any]:
    """`role` is the caller's; `quota` has the limits in force, null for no limit."""
    used = quotas.usage(namespace)
    return {
        "name": namespace.name,
        "visibility": namespace.visibility,
        "description": namespace.description,
        "breaking_changes": namespace.breaking_changes,
        "role": role.label.lower() if role else None,
        "usage": {"bytes": used.bytes, "versions": used.versions},
        "quota": {"bytes": used.max_bytes or None, "versions": used.max_versions or None},
    }


class NamespaceDetail(ApiView):
    http_method_names = ["get", "head", "put", "patch", "delete"]

    @operation("Show a namespace", answers={200: shapes.Namespace}, public=True)
    def get(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        return Response(namespace_document(*gate.namespace_and_role(self.viewer, namespace)))

    @operation(
        "Create or change a namespace",
        takes=NamespaceInput,
        answers={200: shapes.Namespace, 201: shapes.Namespace},
        again="Changes it to the same.",
        scope="manage",
        idempotent=True,
    )
    def put(self, request: Request, namespace: str) -> Response:
        """201 if created (the caller owns it), 200 if changed; an omitted field stays unchanged."""
        self.require_token()
        try:
            target, role = gate.namespace_and_role(self.viewer, namespace)
        except NotFound:
            wanted = validated(NamespaceInput, read_json(request))
            created = namespaces.create(name=namespace, actor=self.viewer, **wanted)
            document = namespace_document(created, gate.role_on(self.viewer, created))
            return Response(document, status=HTTPStatus.CREATED)
        if role != Role.OWNER:
            gate.namespace_for(self.viewer, namespace, need=Role.OWNER)  # raises, and records the refusal
        namespaces.change(namespace=target, actor=self.viewer, **validated(NamespaceInput, read_json(request)))
        return Response(namespace_document(target, role))

    @operation(
        "Change the rule for breaking changes (owners) or the quotas (staff) of a namespace",
        takes=NamespaceChange,
        answers={200: shapes.Namespace},
        again="Changes nothing.",
        scope="manage",
        idempotent=True,
    )
    def patch(self, request: Request, namespace: str) -> Response:
        self.require_token()
        target, role = gate.namespace_and_role(self.viewer, namespace)
        if role != Role.OWNER and not is_operator(self.viewer):
            gate.namespace_for(self.viewer, namespace, need=Role.OWNER)  # raises, and records the refusal
        wanted = validated(NamespaceChange, read_json(request))
        rule = wanted.pop("breaking_changes", None)
        if wanted:
            operated_namespace_and_role(self.viewer, namespace, permission="accounts.change_namespace")
        elif rule is None:
            raise Invalid("There is nothing to change.", hint="Send breaking_changes, quota_bytes or quota_versions.")
        with transaction.atomic():
            if rule is not None:
                gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
                namespaces.change(namespace=target, actor=self.viewer, breaking_changes=rule)
            if wanted:
                namespaces.set_quotas(namespace=target, actor=self.viewer, **wanted)
        return Response(namespace_document(target, role))

    @operation("Delete an empty namespace", answers={204: None}, again="404.", scope="manage", idempotent=True)
    def delete(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """Only an empty namespace. Its name stays reserved for its owners, who may create it again."""
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        namespace_deletion.delete(namespace=target, actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


urlpatterns = [path("namespaces/<segment:namespace>", NamespaceDetail.as_view(), name="namespace")]
