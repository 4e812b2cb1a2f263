"""/namespaces/<ns>/git for publishers: the repositories, the verdict of each tag, sync now, and a retry."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.models import Role
from apps.contrib.git import connecting, estimating, hooks, places, syncing, verdicts
from apps.contrib.git.models import COOLING_DOWN, POLICY, GitRepository, Tag, Verdict
from apps.contrib.git.pages import frame
from apps.contrib.git.pages.frame import VERDICTS, place_of
from apps.lib.errors import Conflict, Invalid, NotFound
from apps.portal.frame import namespace_tabs
from apps.portal.frame.forms import sentence
from apps.portal.frame.page_urls import Address, page_of, see_other, url_of
from apps.portal.frame.rows import address_named
from apps.releases.models import State

PAGE_SIZE = 50
MAX_SEARCH_CHARACTERS = 100
# Alarms above the tags; the filter has the rest.
ALARMS = 5


@never_cache
@require_safe
def repository_list(request: HttpRequest, namespace: str) -> HttpResponse:
    place = place_of(request, namespace, need=Role.PUBLISHER)
    repositories = list(connecting.of(place.namespace).order_by("url", "pk"))
    counts = verdicts.counts(repositories)
    rows = [
        {
            "repository": one,
            "name": frame.short_name(one.url),
            "state": frame.state_of(one),
            "counts": _in_order(counts[one.pk]),
        }
        for one in repositories
    ]
    context = place.context() | namespace_tabs.frame_of(place.namespace, place.role, "git") | {"rows": rows}
    return render(request, "portal/sources/list.html", context)


@never_cache
@require_safe
def repository_page(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    """A draft has no verdicts yet: its owners are led to the next step."""
    place = place_of(request, namespace, need=Role.PUBLISHER)
    repository = place.repository(repository_id)
    if repository.started_at is None and repository.suspended_at is None and place.may_manage:
        return see_other(
            "git-key" if frame.has_key_to_add(repository) else "git-plan", place.namespace.name, repository.pk
        )
    verdict = request.GET.get("verdict", "")
    verdict = verdict if verdict in Verdict.values else ""
    q = request.GET.get("q", "").strip()[:MAX_SEARCH_CHARACTERS]
    page = page_of(verdicts.tags_of(repository, verdict=verdict, q=q), request, size=PAGE_SIZE)
    counts = dict(_in_order(verdicts.counts([repository])[repository.pk]))
    is_listed = frame.is_being_listed(repository)
    allow_url = places.of(repository).page_to_allow(place.viewer)
    alarms = {kind: counts.get(kind, 0) for kind in (Verdict.MOVED, Verdict.GONE) if counts.get(kind)}
    context = place.context(repository) | {
        "state": frame.state_of(repository),
        "rules": repository.rules.order_by("position"),
        "hook_url": hooks.url_of(repository),
        "counts": list(counts.items()),
        "total": sum(counts.values()),
        "verdict": verdict,
        "q": q,
        "page": page,
        "rows": [_row(place.namespace.name, tag, allow_url) for tag in page.object_list],
        "alarms": [_alarm(repository, kind, count) for kind, count in alarms.items()],
        "host_keys_differ": frame.needs_host_keys(repository),
        "is_listed": is_listed,
        "progress": estimating.progress_of([repository])[repository.pk],
        "is_working": is_listed or bool(counts.get(Verdict.WAITING)),
    }
    return render(request, "portal/sources/page.html", context)


def _in_order(counts: dict[str, int]) -> list[tuple[Verdict, int]]:
    return [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]


def _row(namespace: str, tag: Tag, allow_url: str) -> dict[str, Any]:
    """With the page of its release, of which a published one is the version's, and where staff let it through."""
    shown, release, url = Verdict(tag.shown), tag.release, ""
    is_held_back = release is None and tag.code in (COOLING_DOWN, POLICY)
    address: Address | None = None
    if release is not None:
        address = address_named(release.kind, namespace, release.name)
        if release.state == State.PUBLISHED:
            url = url_of(address, "version", release.version)
        elif release.state != State.PURGED:
            url = reverse("portal:release", args=[release.public_id])
    return {
        "tag": tag,
        "shown": shown,
        "reason": verdicts.reason_of(tag),
        "address": address,
        "url": url,
        "allow_url": f"{allow_url}&{urlencode({'version': tag.version})}#allow" if allow_url and is_held_back else "",
        # Without a code it waits for its turn alone: a button at each of hundreds would say that something is wrong.
        "may_retry": syncing.may_retry(tag) and (shown != Verdict.WAITING or bool(tag.code)),
    }


def _alarm(repository: GitRepository, verdict: Verdict, count: int) -> dict[str, Any]:
    tags = verdicts.tags_of(repository, verdict=verdict)[:ALARMS]
    return {"verdict": verdict, "count": count, "tags": [tag.name for tag in tags]}


@require_POST
def repository_sync(request: HttpRequest, namespace: str, repository_id: int) -> HttpResponse:
    place = place_of(request, namespace, need=Role.PUBLISHER)
    repository = place.repository(repository_id)
    if repository.started_at is None:  # what is published first is chosen by an owner
        messages.error(request, "An owner has to choose the first tags. Then it can be synced.")
        return see_other("git-repository", place.namespace.name, repository.pk)
    try:
        syncing.sync(repository=repository, actor=place.viewer, tags=())  # what was selected stays
    except (Conflict, Invalid) as refusal:
        messages.error(request, sentence(refusal))
    else:
        messages.success(request, "Larder lists the tags now.")
    return see_other("git-repository", place.namespace.name, repository.pk)


@require_POST
def tag_retry(request: HttpRequest, namespace: str, repository_id: int, tag_id: int) -> HttpResponse:
    place = place_of(request, namespace, need=Role.PUBLISHER)
    repository = place.repository(repository_id)
    tag = Tag.objects.filter(repository=repository, pk=tag_id).first()
    if tag is None:
        raise NotFound("This repository has no such tag.", hint="See the repository's page for its tags.")
    try:
        syncing.retry(tag=tag, actor=place.viewer)
    except (Conflict, Invalid) as refusal:
        messages.error(request, sentence(refusal))
    else:
        messages.success(request, f"A worker tries {tag.name} again.")
    query = {
        name: request.POST[name][:MAX_SEARCH_CHARACTERS] for name in ("verdict", "q", "page") if request.POST.get(name)
    }
    response: HttpResponseRedirect = see_other("git-repository", place.namespace.name, repository.pk)
    response["Location"] += f"?{urlencode(query)}" if query else ""
    return response


_ROOT = "namespaces/<str:namespace>/git"

urlpatterns = [
    path(_ROOT, repository_list, name="git-repositories"),
    path(f"{_ROOT}/<int:repository_id>", repository_page, name="git-repository"),
    path(f"{_ROOT}/<int:repository_id>/sync", repository_sync, name="git-sync"),
    path(f"{_ROOT}/<int:repository_id>/tags/<int:tag_id>/retry", tag_retry, name="git-retry"),
]
