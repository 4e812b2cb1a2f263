"""/namespaces/<ns>/git/<number>/plan for owners: the rules, what they would publish, and which tags to publish now.

The form carries everything: rules that are being edited are saved when something is published by them, or with "Save
the rules". So a preview changes nothing, and the page works without scripts.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from apps.contrib.git import connecting, previewing, rulebook, syncing
from apps.contrib.git.models import GitRepository, Tag, Verdict
from apps.contrib.git.pages import frame
from apps.contrib.git.pages.frame import place_of
from apps.lib.errors import Conflict, Invalid
from apps.portal.frame.forms import sentence
from apps.portal.frame.page_urls import see_other

# More tags than that get a box for each module instead of one for each tag: a form may have 1,000 fields, and three are
# of each rule.
MAX_BOXES = 350
MAX_MODULES = 400
# Of more versions than that only the newest are ticked at first: 100 modules that share 900 tags have 90,000.
MAX_TICKED, NEWEST_TICKED = 1000, 5
# Tags that would not be published, as the page lists them.
MAX_OTHERS = 100
NEWEST = (("", "All versions"), ("1", "Only the newest"), ("5", "The newest 5"), ("20", "The newest 20"))
PARTS = ("tag", "folder", "module")
TAG_FIELDS = ("name", "module", "verdict", "reason")
SETTLED = (Verdict.PUBLISHED, Verdict.WAITING, Verdict.HELD, Verdict.MOVED, Verdict.GONE)
# In the URL of the page: the rules are those that a person asked a worker about.
ASKED = "asked"
# Tags that were looked into, and would not be published without a word, as the page lists them.
MAX_FINDINGS = 50
Rule = dict[str, str]


@dataclass
class Choice:
    """A tag that would be published, or held: as one module, or as several that share it."""

    tag: str
    commit: str
    versions: list[tuple[str, str]]  # module, version
    is_chosen: bool = True
    held: int = 0  # how many of the versions

    @property
    def version(self) -> str:
        return self.versions[0][1]


@dataclass
class Group:
    """A module with its tags, the newest first. Where a tag is for several modules, there is one group for all."""

    module: str
    choices: list[Choice] = field(default_factory=list)

    @property
    def chosen(self) -> int:
        return sum(choice.is_chosen for choice in self.choices)


@dataclass
class Plan:
    groups: list[Group]
    others: list[dict[str, Any]]

    @property
    def choices(self) -> list[Choice]:
        return [choice for group in self.groups for choice in group.choices]

    @property
    def is_large(self) -> bool:
        return len(self.choices) > MAX_BOXES

    @property
    def chosen(self) -> list[str]:
        return [choice.tag for choice in self.choices if choice.is_chosen]

    @property
    def versions(self) -> int:
        """The number of releases that the chosen tags make."""
        return sum(len(choice.versions) for choice in self.choices if choice.is_chosen)

    @property
    def modules(self) -> int:
        return len({module for choice in self.choices for module, _ in choice.versions})

    @property
    def held(self) -> int:
        """The number of releases that would wait for an answer."""
        return sum(choice.held for choice in self.choices)

    @property
    def published(self) -> int:
        """The number of tags that would be published as something, without a question."""
        return sum(choice.held < len(choice.versions) for choice in self.choices)

    @property
    def settled(self) -> int:
        """The number of the others that are published, or on their way."""
        return sum(one["verdict"] in SETTLED for one in self.others)

    @property
    def refused(self) -> int:
        return sum(one["verdict"] == Verdict.REFUSED for one in self.others)

    @property
    def largest(self) -> list[Group]:
        return self.groups[:MAX_MODULES]

    @property
    def outcomes(self) -> list[tuple[str, int]]:
        """Why the others are not published, with how many tags each reason has."""
        return Counter(one["verdict"] for one in self.others).most_common()


def plan_of(rows: Iterable[Mapping[str, Any]], known: Mapping[tuple[str, str], Tag] | None = None) -> Plan:
    """From what `previewing.planned` answers. `known`: tags that were matched before, by name and module."""
    choices: dict[str, Choice] = {}
    others = []
    for row in rows:
        tag = (known or {}).get((row["tag"], row["module"]))
        if row["verdict"] not in ("publish", "held") or (tag is not None and tag.verdict != Verdict.IGNORED):
            # What waits is on its way, and what was refused is tried again on the page of the repository.
            others.append({**row, "verdict": tag.shown, "reason": tag.reason} if tag else dict(row))
            continue
        choice = choices.setdefault(row["tag"], Choice(row["tag"], row["commit"], [], is_chosen=tag is None))
        choice.versions.append((row["module"], row["version"]))
        choice.held += row["verdict"] == "held"
    groups: dict[str, Group] = {}
    is_shared = any(len(choice.versions) > 1 for choice in choices.values())
    for choice in choices.values():
        name = "" if is_shared else choice.versions[0][0]
        groups.setdefault(name, Group(name)).choices.append(choice)
    return Plan(sorted(groups.values(), key=lambda group: group.module), others)


def tick_newest(plan: Plan) -> int:
    """Leave only the newest of each module ticked where they are too many to want them all. Return how many all are."""
    versions = plan.versions
    if versions <= MAX_TICKED:
        return 0
    for group in plan.groups:
        for choice in group.choices[NEWEST_TICKED:]:
            choice.is_chosen = False
    return versions


def choose(plan: Plan, data: QueryDict) -> None:
    """Tick what the form has ticked; its buttons tick all or nothing, everywhere or in one module."""
    act, _, where = data.get("act", "").partition(":")
    if plan.is_large:
        modules, newest = set(data.getlist("picked_module")), data.get("newest", "")
        count = int(newest) if newest in dict(NEWEST) and newest else None
        for group in plan.groups:
            for number, choice in enumerate(group.choices):
                choice.is_chosen = group.module in modules and (count is None or number < count)
    else:
        tags = set(data.getlist("picked"))
        for choice in plan.choices:
            choice.is_chosen = choice.tag in tags
    for group in plan.groups:
        if act in ("all", "none") and where in ("*", group.module):
            for choice in group.choices:
                choice.is_chosen = act == "all"


def rules_in(data: QueryDict) -> list[Rule]:
    """The rows of the form, without those that are empty and the one whose button asks to remove it."""
    columns = [data.getlist(f"rule_{part}") for part in PARTS]
    rows = [dict(zip(PARTS, (value.strip() for value in row), strict=True)) for row in zip(*columns, strict=False)]
    act, _, number = data.get("act", "").partition(":")
    return [row for at, row in enumerate(rows) if any(row.values()) and not (act == "remove" and number == str(at))]


def digest_of(rules: list[Rule]) -> str:
    return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:16]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def plan_page(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    place = place_of(request, namespace)
    repository = place.repository(repository_id)
    own = [{part: getattr(rule, part) for part in PARTS} for rule in repository.rules.order_by("position")]
    preview = repository.preview
    if preview.get("state") != "done":
        context = place.context(repository) | _looking(repository) | {"asked": _asked_in(request)}
        return render(request, "portal/sources/looking.html", context)
    suggested = [{part: str(rule.get(part, "")) for part in PARTS} for rule in preview.get("suggested", [])]
    asked = preview.get("asked") if _asked_in(request) else None
    rules = rules_in(request.POST) if request.method == "POST" else asked or own or suggested
    act = request.POST.get("act", "").partition(":")[0]
    error, plan, too_many, rows, is_checked = "", Plan([], []), 0, [], False
    try:
        tags = repository.tags.exclude(module="").with_shown().only(*TAG_FIELDS)
        if request.method == "POST":
            rules = [rule.as_json() for rule in rulebook.checked(rules)]
        is_checked = previewing.is_checked(repository, rules)
        if act == "preview" and not is_checked:
            previewing.ask(repository=repository, actor=place.viewer, rules=rulebook.checked(rules))
            return to_plan(place, repository, asked=True)
        rows = previewing.planned(repository, rules)
        plan = plan_of(rows, {(tag.name, tag.module): tag for tag in tags})
        is_seen = is_checked and request.POST.get("seen") == digest_of(rules)
        if request.method == "POST" and is_seen:
            choose(plan, request.POST)
        else:
            too_many = tick_newest(plan)
        if act in ("publish", "save", "later"):
            if is_seen or act == "save":
                return _done(request, place, repository, rules=rules, own=own, plan=plan, act=act)
            error = "These rules were not checked yet. Update the preview, then publish."
    except (Conflict, Invalid) as refusal:
        error = sentence(refusal)
    context = place.context(repository) | {
        "rules": rules,
        "has_blank": act == "add" or not rules,
        "is_suggested": not own and rules == suggested,
        "folders": preview.get("folders", []),
        "folder_count": len(preview.get("folders", [])) + preview.get("more_folders", 0),
        "suggestion_count": len(suggested) + preview.get("left_off", 0),
        "is_checked": is_checked,
        "checked_count": sum(row["is_checked"] for row in rows),
        "unchecked_count": preview.get("unchecked", 0),
        "findings": [row for row in rows if row["is_checked"] and row["verdict"] != "publish"],
        "max_findings": MAX_FINDINGS,
        "tag_count": len(preview.get("refs", [])),
        "plan": plan,
        "seen": digest_of(rules),
        "opened": request.POST.get("act", "").partition(":")[2] or None,
        "too_many": too_many,
        "newest": str(NEWEST_TICKED) if too_many else request.POST.get("newest", ""),
        "newest_choices": NEWEST,
        "max_others": MAX_OTHERS,
        "error": error,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    return render(request, "portal/sources/plan.html", context, status=status)


def to_plan(place: frame.Place, repository: GitRepository, *, asked: bool = False) -> HttpResponse:
    """Send the browser to this page, which waits for a worker. `asked`: then with the rules that it was asked about."""
    answer: HttpResponseRedirect = see_other("git-plan", place.namespace.name, repository.pk)
    answer["Location"] += f"?rules={ASKED}" if asked else ""
    return answer


def _done(
    request: HttpRequest,
    place: frame.Place,
    repository: GitRepository,
    *,
    rules: list[Rule],
    own: list[Rule],
    plan: Plan,
    act: str,
) -> HttpResponse:
    """Save the rules, and publish by them. Raises Conflict and Invalid."""
    if rules != own:
        chosen = plan.chosen if act == "publish" else []
        connecting.change(repository=repository, actor=place.viewer, rules=rules, selected=chosen)
    if act == "save" and repository.started_at is None:
        messages.success(request, "Rules saved. Nothing is published yet.")
        return see_other("git-plan", place.namespace.name, repository.pk)
    tags: list[str] | None = plan.chosen if act == "publish" else []
    count = plan.versions if act == "publish" else 0
    if tags and len(tags) == len(plan.choices) and repository.started_at is None:
        tags = None
    syncing.sync(repository=repository, actor=place.viewer, tags=tags)
    if count:
        messages.success(request, f"A worker publishes {count:,} version{'' if count == 1 else 's'} now.")
    else:
        messages.success(request, "From now on, Larder publishes each new tag that matches a rule.")
    return see_other("git-repository", place.namespace.name, repository.pk)


def _asked_in(request: HttpRequest) -> str:
    return ASKED if request.GET.get("rules") == ASKED else ""


def _looking(repository: GitRepository) -> dict[str, Any]:
    preview = repository.preview
    return {
        "is_working": preview.get("state") == "waiting",
        "failure": preview.get("failure"),
        "host_keys_differ": frame.needs_host_keys(repository),
        "has_key": bool(repository.credential_facts.get("public_key")),
    }


urlpatterns = [
    path("namespaces/<str:namespace>/git/<int:repository_id>/plan", plan_page, name="git-plan"),
]
