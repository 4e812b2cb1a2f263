"""/api/v1/modules/<ns>/<name>/<system>/<version>/<action>, and the same for providers, by POST (D9)."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.access.people_only import is_machine
from apps.api.frame import shapes
from apps.api.frame.base import DRY_RUN, MODULE, PROVIDER, ApiView, Operation
from apps.api.frame.shapes import of_release
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import RoleRequired
from apps.modules import lifecycle as modules
from apps.modules.dependents.impact import of_releases
from apps.providers import lifecycle as providers
from apps.providers.signatures import resigning
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.lifecycle.impact import Act, Consequences
from apps.releases.lifecycle.messages import readers_of_mail
from apps.releases.models import Release


class ReasonInput(serializers.Serializer[Any]):
    # The verbs limit its length, with the same error on every way in.

    reason = serializers.CharField(allow_blank=True)


class NotifyInput(ReasonInput):
    notify = serializers.BooleanField(
        required=False, help_text="Mail those affected, as counted by `dry_run=1`. Service accounts cannot send it."
    )


class ReplacedInput(NotifyInput):
    replacement = serializers.CharField(required=False, allow_blank=True)


class PurgeInput(NotifyInput):
    """`confirm` is the full address and version. A worker deletes the bytes soon after."""

    confirm = serializers.CharField(allow_blank=True)


# Publishers yank modules too, soon after they published them.
_PUBLISHERS = {"deprecate", "restore"}
SUMMARIES = {
    "deprecate": "Deprecate a version",
    "yank": "Yank a version",
    "quarantine": "Quarantine a version (staff)",
    "restore": "Restore a version",
    "end-cooldown": "End the cool-down of a version",
    "purge": "Purge a version (staff)",
    "verify": "Verify a version (staff)",
    "resign": "Sign a version",
}


class ActionView(ApiView):
    """`{"reason": "…"}` and the action's other fields; 200 with the release document afterwards.

    409 if it is in that state already, with since when, by whom and why. Once answered, no process lists a yanked
    version, and none serves one in quarantine. Actions that a worker carries out are answered 202 and read no body.
    """

    address_of: type[ModuleAddress | ProviderAddress] = ModuleAddress
    verb: Callable[..., Release] = modules.deprecate
    input: type[serializers.Serializer[Any]] | None = ReasonInput
    weighed: Act | None = None  # whose consequences `dry_run=1` answers with
    actions: VersionActions[Any] = modules.ACTIONS
    summary = ""
    scope = "manage"

    def operation_of(self, method: str) -> Operation | None:
        if method.lower() != "post":
            return None
        status: int = HTTPStatus.OK if self.input else HTTPStatus.ACCEPTED
        again = "409." if self.input else "409 until a worker has finished."
        answer: Any = (shapes.Release, shapes.Consequences) if self.weighed else shapes.Release
        query = DRY_RUN if self.weighed else {}
        return Operation(self.summary, self.input, {status: answer}, query=query, again=again, scope=self.scope)

    def post(self, request: Request, *, namespace: str, version: str, **names: str) -> Response:  # noqa: ARG002
        gate.namespace_for(self.viewer, namespace, spelled=self.address_of.spelled)  # before the body is read
        address = self.address_of(namespace=namespace, **names)
        if self.weighed is not None and self.is_dry_run():
            return self.answer(self._found(address, version), shape=shapes.Consequences)
        fields = self.body() if self.input else {}
        if self.weighed is not None and fields.pop("notify", False):
            if is_machine(self.viewer):
                raise RoleRequired("A service account cannot notify users.", hint="A person with the role can.")
            people = self._found(address, version).people
            fields["people"] = [one.pk for one in readers_of_mail(people, but=self.viewer.user_id)]
        release = self.verb(viewer=self.viewer, address=address, version=version, **fields)
        status = HTTPStatus.OK if self.input else HTTPStatus.ACCEPTED
        return self.answer(of_release(release), status, shape=shapes.Release)

    def _found(self, address: Any, version: str) -> Consequences:
        assert self.weighed is not None  # noqa: S101  # the caller has looked
        release, role = self.actions.weighed(self.viewer, address, version, self.weighed)
        return of_releases(self.viewer, [release], self.weighed, role=role)


def _routes(kind: str, place: str, actions: VersionActions[Any]) -> list[URLPattern]:
    def route(name: str, verb: Callable[..., Release], wanted: type[ReasonInput] | None = ReasonInput) -> URLPattern:
        view = ActionView.as_view(
            address_of=actions.address_type,
            actions=actions,
            verb=verb,
            input=wanted,
            weighed=Act(name) if name in tuple(Act) else None,
            summary=f"{SUMMARIES[name]} of a {kind}",
            scope="publish" if name in _PUBLISHERS or (kind, name) == ("module", "yank") else "manage",
        )
        return path(f"{place}/<segment:version>/{name}", view, name=f"{kind}-{name}")

    return [
        route("deprecate", actions.deprecate, ReplacedInput),
        route("yank", actions.yank, ReplacedInput),
        route("quarantine", actions.quarantine, NotifyInput),
        route("restore", actions.restore),
        route("end-cooldown", actions.end_cooldown),
        route("purge", actions.purge, PurgeInput),
        route("verify", actions.verify, None),
        *([route("resign", resigning.resign, None)] if kind == "provider" else []),
    ]


urlpatterns = [
    *_routes("module", MODULE, modules.ACTIONS),
    *_routes("provider", PROVIDER, providers.ACTIONS),
]
