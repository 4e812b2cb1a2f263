"""The tabs of a namespace and the sections in them, declared once: its pages show them, the palette finds them.

A section is a page of its own in the frame of its tab, templates/portal/namespaces/section.html.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from apps.accounts.models import Namespace, Role
from apps.room import rooms
from apps.signing.models import SigningKey


@dataclass(frozen=True, slots=True)
class Section:
    """`role`: the lowest that sees it, None for all who see the namespace. `words`: what else people call it."""

    key: str
    label: str
    route: str
    icon: str
    role: Role | None = Role.OWNER
    words: str = ""


@dataclass(frozen=True, slots=True)
class Tab:
    key: str
    label: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str
    is_current: bool


CONTENTS = "contents"
_TABS = (
    Tab(
        CONTENTS,
        "Modules and providers",
        (Section(CONTENTS, "Modules and providers", "portal:namespace", "package", None, "page home"),),
    ),
    Tab(
        "publishing",
        "Publishing",
        (
            Section("keys", "Signing keys", "portal:keys", "key-round", None, "gpg providers"),
            Section(
                "rules",
                "Release rules",
                "portal:namespace-rules",
                "shield-check",
                words="approval cool-down cooldown guard breaking changes",
            ),
            Section(
                "connections", "Connections", "portal:namespace-connections", "link", words="left behind suspended"
            ),
        ),
    ),
    Tab(
        "people",
        "People",
        (
            Section(
                "people", "People", "portal:namespace-members", "users", words="members roles teams access invite grant"
            ),
        ),
    ),
    Tab(
        "activity",
        "Activity",
        (Section("activity", "Activity", "portal:namespace-activity", "history", words="audit log events"),),
    ),
    Tab(
        "settings",
        "Settings",
        (
            Section("general", "General", "portal:namespace-change", "settings", words="visibility description change"),
            Section("storage", "Storage", "portal:namespace-usage", "hash", None, "quota usage size"),
            Section("transfer", "Transfer", "portal:namespace-transfer", "arrow-right", words="hand over new owner"),
            Section("delete", "Delete", "portal:namespace-delete", "trash-2", words="remove end"),
        ),
    ),
)


def tabs() -> Iterator[Tab]:
    """All of them, with the sections of rooms where these say, or first in their tab."""
    for tab in _TABS:
        sections = list(tab.sections)
        first = 0
        for entry in (entry for room in rooms() for entry in room.namespace_menu if entry.tab == tab.key):
            role = Role.OWNER if entry.for_owners else Role.PUBLISHER
            at = next((place for place, one in enumerate(sections) if one.key == entry.before), first)
            first += at == first
            sections.insert(at, Section(entry.key, entry.label, entry.route, entry.icon, role, entry.words))
        yield Tab(tab.key, tab.label, tuple(sections))


def seen_by(role: Role | None) -> Iterator[tuple[Tab, list[Section]]]:
    """Each tab with the sections that such a person may open; those without any are left out."""
    for tab in tabs():
        if found := [one for one in tab.sections if one.role is None or (role is not None and role.covers(one.role))]:
            yield tab, found


def frame_of(namespace: Namespace, role: Role | None, current: str) -> dict[str, Any]:
    """The context of templates/portal/namespaces/section.html. `current` is the key of a section.

    `role` is None without an account, which may still see the namespace.
    """
    context: dict[str, Any] = {"namespace": namespace, "namespace_tabs": []}
    for tab, sections in seen_by(role):
        shown = [one for one in sections if one.key != "keys" or _has_keys(namespace, role, current)]
        here = next((one for one in shown if one.key == current), None)
        if here is not None:
            context |= {"tab": tab, "section": here, "sections": [_link(one, namespace, here) for one in shown]}
        if shown:
            context["namespace_tabs"].append(Link(tab.label, _url(shown[0], namespace), here is not None))
    return context


def _has_keys(namespace: Namespace, role: Role | None, current: str) -> bool:
    """Those who add none see the page once there is something on it."""
    if current == "keys" or (role is not None and role.covers(Role.PUBLISHER)):
        return True
    return SigningKey.objects.filter(namespace=namespace).exists()


def _link(section: Section, namespace: Namespace, here: Section) -> Link:
    return Link(section.label, _url(section, namespace), section is here)


def _url(section: Section, namespace: Namespace) -> str:
    return reverse(section.route, args=[namespace.name])
