"""/api/v1/namespaces/<ns>/repositories/<id>/preview: what rules would publish, before anything is."""

from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField

from apps.accounts.models import Role
from apps.api.frame.base import DetailView, operation, shown
from apps.api.frame.shapes import MomentField, Shape
from apps.contrib.git import previewing, rulebook
from apps.contrib.git.api.shapes import LATER, GitRule, GitRuleInput, LookFailure, WaitingView
from apps.contrib.git.models import GitRepository

NONE, WAITING, DONE, FAILED = "none", "waiting", "done", "failed"


class PreviewInput(serializers.Serializer[Any]):
    rules = GitRuleInput(
        many=True, required=False, help_text="Rules to preview. The default is the repository's own rules."
    )


class ModuleFolder(Shape):
    folder = CharField(help_text="Empty for the root of the repository.")
    files = IntegerField(help_text="Number of configuration files.")


class PlannedTag(Shape):
    tag = CharField()
    commit = CharField()
    module = CharField(help_text="Empty if no rule matches.")
    version = CharField()
    folder = CharField()
    verdict = ChoiceField(
        choices=["publish", "held", "published", "ignored", "refused"],
        help_text="The expected outcome. held: the publisher would have to answer a question.",
    )
    code = CharField(help_text="Code of the reason, for programs, or empty.")
    reason = CharField(help_text="Why it would not be published, or empty.")
    is_checked = BooleanField(
        help_text="Set if a worker checked the tag as it would before publishing: for each rule, the newest tag."
    )


class PreviewFailure(LookFailure):
    pass


class GitPreview(Shape):
    state = ChoiceField(choices=[NONE, WAITING, DONE, FAILED], help_text="none: no preview was requested yet.")
    at = MomentField(allow_null=True, help_text="When a worker last scanned the repository.")
    failure = PreviewFailure(allow_null=True)
    folders = ModuleFolder(many=True, help_text="Folders of the newest tag that contain modules. At most 500.")
    more_folders = IntegerField(help_text="Number that were left out.")
    suggested = GitRule(many=True, help_text="Suggested rules that would publish most of the tags. At most 100.")
    more_suggested = IntegerField(help_text="Number that were left out.")
    rules = GitRule(many=True, help_text="Tags shown in `tags`.")
    tags = PlannedTag(many=True, help_text="The newest version first.")
    unchecked = IntegerField(
        help_text="Number of rules for which no tag was checked, for lack of time or of a response."
    )


class Preview(WaitingView, DetailView):
    get = shown("Show the last preview of a Git repository", GitPreview, scope="publish")

    def row(self, **_: Any) -> dict[str, Any]:
        row = self.repository(Role.PUBLISHER)
        return _shown(row, rulebook.of(row))

    @operation(
        "Preview what a Git repository would publish",
        takes=PreviewInput,
        answers={200: GitPreview, 202: GitPreview},
        again="The same answer, or 200 once it is finished.",
        idempotent=True,
    )
    def post(self, request: Request, **_: Any) -> Response:  # noqa: ARG002
        """A worker looks at the repository; nothing is saved or published. 202 if that takes longer than 25 seconds:
        GET has the result then, for the repository's own rules. Send them again to preview others.
        """
        row = self.repository()
        if self.resumed:
            rules, until = self.resumed.resume
        else:
            given = self.body().get("rules")
            rules = rulebook.of(row) if given is None else rulebook.checked(given)
            until = self.until()
            previewing.ask(repository=row, actor=self.viewer, rules=rules)
        if _state_of(row) != WAITING:
            return self.answer(_shown(row, rules))
        self.wait(_states_of, row, until, rules)
        return self.answer(_shown(row, rules), HTTPStatus.ACCEPTED, headers=LATER)


def _state_of(row: GitRepository) -> str:
    return str(row.preview.get("state") or NONE)


def _states_of(rows: Collection[int]) -> Mapping[int, object]:
    return dict(GitRepository.objects.filter(pk__in=rows).values_list("pk", "preview__state"))


def _shown(row: GitRepository, rules: list[rulebook.CheckedRule]) -> dict[str, Any]:
    state = _state_of(row)
    written = [rule.as_json() for rule in rules]
    return {
        "state": state,
        "at": row.previewed_at,
        "failure": row.preview.get("failure") or None if state == FAILED else None,
        "folders": row.preview.get("folders", []) if state == DONE else [],
        "more_folders": row.preview.get("more_folders", 0) if state == DONE else 0,
        "suggested": row.preview.get("suggested", []) if state == DONE else [],
        "more_suggested": row.preview.get("left_off", 0) if state == DONE else 0,
        "rules": written,
        "tags": previewing.planned(row, written) if state == DONE else [],
        "unchecked": row.preview.get("unchecked", 0) if state == DONE else 0,
    }


urlpatterns = [
    path(
        "namespaces/<segment:namespace>/repositories/<int:repository_id>/preview",
        Preview.as_view(),
        name="repository-preview",
    ),
]
