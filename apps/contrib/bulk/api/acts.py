"""/api/v1/versions/<act>: one act on several versions of modules and providers, by POST."""

from collections.abc import Collection
from typing import Any

from django.urls import URLPattern, path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.accounts.access.people_only import is_machine
from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import ApiView, Operation
from apps.api.frame.shapes import Shape, With, of_release
from apps.lib import addresses
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid, RegistryError, RoleRequired
from apps.modules import lifecycle as modules
from apps.modules.dependents.impact import of_releases
from apps.providers import lifecycle as providers
from apps.releases.lifecycle import several
from apps.releases.lifecycle.impact import Act
from apps.releases.lifecycle.messages import readers_of_mail
from apps.releases.lifecycle.several import Refused, Target


class VersionInput(serializers.Serializer[Any]):
    address = serializers.CharField(help_text="namespace/name/system of a module, or namespace/type of a provider.")
    version = serializers.CharField()


class VersionsInput(serializers.Serializer[Any]):
    """The verbs check the reason, as for a single version."""

    versions = serializers.ListField(child=VersionInput(), allow_empty=False, max_length=several.MAX_VERSIONS)
    reason = serializers.CharField(required=False, default="", allow_blank=True, help_text="A dry run needs none.")


class TakenVersionsInput(VersionsInput):
    notify = serializers.BooleanField(
        required=False,
        help_text="Mail those who are hit, as `dry_run=1` counts them. Not by service accounts; for at most "
        f"{several.MAX_NOTIFYING} versions, all of one namespace.",
    )


class DiscouragedVersionsInput(TakenVersionsInput):
    replacement = serializers.CharField(required=False, allow_blank=True)


class RefusedVersion(Shape):
    # Of a Refused.
    address = CharField(source="target.address")
    version = CharField(source="target.version")
    code = CharField(source="failure.code", help_text="As of the error that the act on it alone answers.")
    message = CharField(source="failure.message")
    hint = CharField(source="failure.hint")


class ActsDone(Shape):
    releases = shapes.Release(many=True, help_text="Those that the act was done on, as they are now.")
    refused = RefusedVersion(many=True)


class SeveralConsequences(shapes.Consequences):
    refused = RefusedVersion(many=True, help_text="Those that the act is not possible for; they are not counted.")


class SeveralView(ApiView):
    """Each version by its own verb, in its own transaction. 200 if at least one could be done, and `refused` has the
    others; if none could, the error of the first.
    """

    act = ""
    input: type[serializers.Serializer[Any]] = VersionsInput
    weighed: Act | None = None
    scope = "publish"

    def operation_of(self, method: str) -> Operation | None:
        if method.lower() != "post":
            return None
        answer: Any = (ActsDone, SeveralConsequences) if self.weighed else ActsDone
        return Operation(
            f"{self.act.capitalize()} several versions",
            self.input,
            {200: answer},
            query={"dry_run": "1: return who would be affected by all, and change nothing. Needs no reason."}
            if self.weighed
            else {},
            again="409 if it was done on all; else `refused` has them.",
            scope=self.scope,
        )

    def post(self, request: Request) -> Response:  # noqa: ARG002
        is_dry = self.weighed is not None and self.is_dry_run()
        said = self.body()
        targets = [_target(one) for one in said.pop("versions")]
        if is_dry:
            return self._weigh(targets)
        people_of = None
        if said.pop("notify", False):
            if is_machine(self.viewer):
                raise RoleRequired("A service account cannot notify users.", hint="A person with the role can.")
            if not several.may_notify(one.address.namespace for one in targets):
                raise Invalid(
                    f"notify is about at most {several.MAX_NOTIFYING} versions of one namespace.",
                    hint="Send fewer at once, or leave notify out.",
                )
            people_of = self._people_of
        done, refused = several.carry_out(self.act, targets, viewer=self.viewer, people_of=people_of, **said)
        if not done:
            raise refused[0].error
        found = {"releases": [of_release(one) for one in done], "refused": self._told(refused)}
        return self.answer(found, shape=ActsDone)

    def _weigh(self, targets: list[Target]) -> Response:
        """Answer who is hit by all, as the least of the caller's roles in their namespaces reads it."""
        assert self.weighed is not None  # noqa: S101  # the caller has looked
        chosen, roles, refused = [], [Role.OWNER], []
        for target in targets:
            try:
                release, role = target.actions.weighed(self.viewer, target.address, target.version, self.weighed)
            except RegistryError as error:
                refused.append(Refused(target, error))
            else:
                chosen.append(release)
                roles.append(role)
        if not chosen:
            raise refused[0].error
        found = of_releases(self.viewer, chosen, self.weighed, role=min(roles))
        return self.answer(With(found, refused=self._told(refused)), shape=SeveralConsequences)

    def _told(self, refused: list[Refused]) -> list[With]:
        return [With(one, failure=self.failure_of(one.error)) for one in refused]

    def _people_of(self, target: Target) -> Collection[int]:
        assert self.weighed is not None  # noqa: S101  # only what can be weighed takes `notify`
        release, role = target.actions.weighed(self.viewer, target.address, target.version, self.weighed)
        found = of_releases(self.viewer, [release], self.weighed, role=role)
        return [one.pk for one in readers_of_mail(found.people, but=self.viewer.user_id)]


def _target(said: dict[str, Any]) -> Target:
    address = addresses.parse(said["address"])
    actions: Any = modules.ACTIONS if isinstance(address, ModuleAddress) else providers.ACTIONS
    return Target(actions, address, said["version"])


def _route(act: str, wanted: type[VersionsInput], scope: str) -> URLPattern:
    weighed = Act(act) if act in tuple(Act) else None
    view = SeveralView.as_view(act=act, input=wanted, weighed=weighed, scope=scope)
    return path(f"versions/{act}", view, name=f"versions-{act}")


urlpatterns = [
    _route("deprecate", DiscouragedVersionsInput, "publish"),
    _route("yank", DiscouragedVersionsInput, "publish"),
    _route("quarantine", TakenVersionsInput, "manage"),
    _route("restore", VersionsInput, "publish"),
]
