"""A monorepo on a real Git server, and Dora's browser."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from apps.accounts.models import Namespace, User
from apps.contrib.git import connecting
from apps.contrib.git.models import GitRepository, Tag
from apps.contrib.git.tests.conftest import connect, first, git, module, server, site, upstream, work_off
from tests import pages
from tests.builders.git_servers import Repository, Site
from tests.sessions import in_browser

__all__ = ["connect", "first", "git", "server", "site", "upstream"]

LIST = "/namespaces/acme/git"
MODULES = ("vpc", "dns", "bucket")


@pytest.fixture
def owner(dora: User, browser_of: Callable[..., Client]) -> Client:
    return browser_of(dora)


@pytest.fixture
def mono(site: Site) -> Repository:
    """Three modules with two tags each, and one tag that is no version."""
    found = site.repository("acme/modules")
    with found.batch() as batch:
        for patch in range(2):
            files = {f"{name}/{path}": text for name in MODULES for path, text in module(f"{name} {patch}").items()}
            batch.commit(files)
            for name in MODULES:
                batch.tag(f"{name}/v1.{patch}.0")
        batch.tag("nightly")
    return found


@pytest.fixture
def draft(owner: Client, mono: Repository, site: Site, acme: Namespace) -> GitRepository:
    """Connected in the browser, and looked at by a worker."""
    answer = owner.post(f"{LIST}/connect", {"url": site.url_of("acme/modules"), "kind": "none"})
    assert answer.status_code == 303, answer.text
    work_off()
    return GitRepository.objects.get()


@pytest.fixture
def previewed(acme: Namespace, dora: User) -> GitRepository:
    """With three tags of each, as the worker leaves it, without a Git server."""
    row = connecting.connect(namespace=acme, actor=in_browser(dora), url="https://git.acme.example/modules").repository
    tags = [*(f"{name}/v1.{patch}.0" for patch in range(3) for name in MODULES), "nightly"]
    row.preview = {
        "state": "done",
        "folders": [
            {"folder": name, "files": 1, "module": f"{name}/generic", "is_submodule": False} for name in MODULES
        ],
        "suggested": [{"tag": "{name}/v{version}", "folder": "{name}", "module": "{name}/generic"}],
        "refs": [{"tag": tag, "commit": "a" * 40} for tag in tags],
        "left_off": 0,
        "unreadable": 0,
        "failure": None,
        "looks": [],
        "submodules": "refuse",
    }
    row.preview["rules"] = row.preview["suggested"]
    row.previewed_at = timezone.now()
    row.save()
    return row


def fields_of(response: HttpResponse) -> dict[str, Any]:
    """Return what a browser would send of the plan: rules, the digest of the preview, and what is ticked and
    chosen.
    """
    text = response.content.decode()
    form: dict[str, Any] = {"seen": re.findall(r'name="seen" value="(\w+)"', text)[0]}
    for part in ("tag", "folder", "module"):
        form[f"rule_{part}"] = re.findall(rf'name="rule_{part}" value="([^"]*)"', text)
    boxes = re.findall(r'<input type="checkbox" name="(picked\w*)" value="([^"]*)"([^>]*)>', text)
    for name in {name for name, _, _ in boxes}:
        form[name] = [value for box, value, rest in boxes if box == name and "checked" in rest]
    if chosen := re.search(r'<option value="(\d*)" selected>', text):
        form["newest"] = chosen[1]
    return form


def plan_url(repository: GitRepository) -> str:
    return f"{LIST}/{repository.pk}/plan"


def previewed_in_browser(owner: Client, repository: GitRepository, rules: dict[str, Any]) -> Any:
    """Update the preview, have a worker look, and return the page that follows."""
    answer: Any = owner.post(plan_url(repository), rules | {"act": "preview"})
    assert answer.status_code == 303
    waits: Any = owner.get(answer.url)
    assert "Larder lists the tags" in pages.shown(waits)
    work_off()
    return owner.get(answer.url)


def verdicts_of(repository: GitRepository) -> dict[str, tuple[str, str]]:
    return {tag.name: (tag.shown, tag.module) for tag in Tag.objects.filter(repository=repository).with_shown()}
