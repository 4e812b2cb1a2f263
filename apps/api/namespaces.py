"""/api/v1/namespaces/<ns>: PUT creates and changes, GET shows, DELETE deletes; PATCH sets quotas (staff)."""

from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import namespace_deletion, namespaces
from apps.accounts.access import gate
from apps.accounts.access.operators import operated_namespace_and_role
from apps.accounts.models import Namespace, Role, Visibility
from apps.api.frame import answers
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.lib.errors import Invalid, NotFound
from apps.releases.publishing import quotas


class NamespaceInput(serializers.Serializer[Any]):
    visibility = serializers.ChoiceField(choices=Visibility.values)
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)


class QuotaInput(serializers.Serializer[Any]):
    """null is the registry's default, 0 no limit; an omitted field stays unchanged."""

    quota_bytes = serializers.IntegerField(required=False, allow_null=True)
    quota_versions = serializers.IntegerField(required=False, allow_null=True)


def namespace_document(namespace: Namespace, role: Role | None) -> dict[str, Any]:
    """`role` is the caller's; `quota` has the limits in force, null for no limit."""
    used = quotas.usage(namespace)
    return {
        "name": namespace.name,
        "visibility": namespace.visibility,
        "description": namespace.description,
        "role": role.label.lower() if role else None,
        "usage": {"bytes": used.bytes, "versions": used.versions},
        "quota": {"bytes": used.max_bytes or None, "versions": used.max_versions or None},
    }


class NamespaceDetail(ApiView):
    http_method_names = ["get", "head", "put", "patch", "delete"]

    @operation("Show a namespace", answers={200: answers.Namespace})
    def get(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        return Response(namespace_document(*gate.namespace_and_role(self.viewer, namespace)))

    @operation(
        "Create or change a namespace",
        takes=NamespaceInput,
        answers={200: answers.Namespace, 201: answers.Namespace},
        again="Changes it to the same.",
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

    @operation("Set the quotas of a namespace (staff)", takes=QuotaInput, answers={200: answers.Namespace})
    def patch(self, request: Request, namespace: str) -> Response:
        self.require_token()
        target, role = operated_namespace_and_role(self.viewer, namespace, permission="accounts.change_namespace")
        wanted = validated(QuotaInput, read_json(request))
        if not wanted:
            raise Invalid("There is nothing to change.", hint="Send quota_bytes, quota_versions or both.")
        namespaces.set_quotas(namespace=target, actor=self.viewer, **wanted)
        return Response(namespace_document(target, role))

    @operation("Delete an empty namespace", answers={204: None}, again="404.")
    def delete(self, request: Request, namespace: str) -> Response:  # noqa: ARG002
        """Only an empty namespace. Its name stays reserved for its owners, who may create it again."""
        self.require_token()
        target = gate.namespace_for(self.viewer, namespace, need=Role.OWNER)
        namespace_deletion.delete(namespace=target, actor=self.viewer)
        return Response(status=HTTPStatus.NO_CONTENT)


urlpatterns = [path("namespaces/<segment:namespace>", NamespaceDetail.as_view(), name="namespace")]
