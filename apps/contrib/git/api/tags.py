"""/api/v1/namespaces/<ns>/repositories/<id>/tags: what became of each tag, and why. For publishers."""

from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, UUIDField

from apps.accounts.models import Role
from apps.api.frame.base import ListView, listed, operation
from apps.api.frame.shapes import MomentField, Shape, page
from apps.contrib.git import syncing, verdicts
from apps.contrib.git.api.shapes import RepositoriesView
from apps.contrib.git.models import Tag, TagQuerySet, Verdict
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.releases.models import Release, State

_TELLS_TAGS_APART = (
    "A tag that fits several rules is a version of several modules: this one. May be left out if it is one."
)


class TagRelease(Shape):
    id = UUIDField(source="public_id")
    address = CharField(help_text="namespace/name/system.")
    version = CharField()
    state = ChoiceField(choices=State.values)
    url = CharField(help_text="URL of the page.")

    def address_of(self, release: Release) -> str:
        return f"{release.namespace.name}/{release.name}"

    def url_of(self, release: Release) -> str:
        return f"{settings.PUBLIC_URL}{reverse('portal:release', args=[release.public_id])}"


class GitTag(Shape):
    tag = CharField(source="name", help_text="Name without refs/tags/.")
    commit = CharField()
    module = CharField(help_text="The module as name/system. Empty if no rule matches.")
    version = CharField()
    folder = CharField()
    verdict = ChoiceField(choices=Verdict.values, source="shown")
    code = CharField(help_text="Code of the reason, for programs. Empty if the release says why.")
    reason = CharField(help_text="The reason in words, or empty.")
    release = TagRelease(allow_null=True)
    published_commit = CharField(help_text="The tag or commit from which the release was made, or empty.")
    seen_at = MomentField()
    changed_at = MomentField(
        help_text="When its verdict or commit last changed; of a published one, when its version was published."
    )

    def reason_of(self, tag: Tag) -> str:
        return verdicts.reason_of(tag)

    def changed_at_of(self, tag: Tag) -> datetime:
        return verdicts.changed_at(tag)


class RetryInput(serializers.Serializer[Any]):
    tag = serializers.CharField(max_length=300)
    module = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=130,
        help_text="The module as name/system, if the tag is a version of several modules.",
    )


class TagList(RepositoriesView, ListView):
    get = listed(
        "List the tags of a Git repository with their verdicts, the newest version first",
        page("GitTagPage", tags=GitTag(many=True)),
        query={"verdict": "Only those with this verdict.", "q": "Part of the tag, module or version."},
        choices={"verdict": Verdict.values},
        scope="publish",
    )

    def rows(self, **_: Any) -> TagQuerySet:
        row = self.repository(Role.PUBLISHER)
        verdict = self.text("verdict")
        if verdict and verdict not in Verdict.values:
            raise Invalid(f"There is no verdict {verdict[:40]!r}.", hint=f"Use one of {', '.join(Verdict.values)}.")
        return verdicts.tags_of(row, verdict=verdict, q=self.text("q"))


class Retry(RepositoriesView):
    @operation(
        "Try a tag of a Git repository again",
        takes=RetryInput,
        answers={202: GitTag},
        errors={409: "The verdict allows no retry, or the tag is a version of several modules: name one."},
        again="202 or 409; nothing is published twice.",
        scope="publish",
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """For a tag that was refused, that policy or the first selection left out, or that waits."""
        row = self.repository(Role.PUBLISHER)
        wanted = self.body()
        found = list(verdicts.tags_of(row).filter(name=wanted["tag"])[:50])
        if module := wanted.get("module", ""):
            found = [tag for tag in found if tag.module == module]
        if not found:
            said = f" of {module[:80]}" if module else ""
            raise NotFound(f"There is no tag {wanted['tag'][:80]!r}{said}.", hint="List the tags, or sync first.")
        if len(found) > 1:
            modules = ", ".join(sorted(tag.module for tag in found))
            raise Conflict(f"This tag is a version of {len(found)} modules.", hint=f"Send `module`: {modules}.")
        syncing.retry(tag=found[0], actor=self.viewer)
        return self.answer(verdicts.tags_of(row).get(pk=found[0].pk), HTTPStatus.ACCEPTED)


_TAGS = "namespaces/<segment:namespace>/repositories/<int:repository_id>/tags"
urlpatterns = [
    path(_TAGS, TagList.as_view(), name="repository-tags"),
    path(f"{_TAGS}/retry", Retry.as_view(), name="repository-tag-retry"),
]
