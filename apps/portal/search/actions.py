"""Pages that a person can go to by typing what they want to do: `tokens`, `acme keys`, `vpc inputs`.

They are those of the menus, the sections of namespaces and the tabs of versions, each from where it is declared, so
that none can be forgotten.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.urls import reverse

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.access.operators import creation_refused
from apps.accounts.models import Role
from apps.lib.addresses import canonical
from apps.lib.text.search_terms import begins_a_part, words_of
from apps.portal.frame import menu, namespace_tabs
from apps.portal.frame.page_urls import url_of
from apps.portal.frame.rows import address_of
from apps.portal.versions import tabs
from apps.releases.catalogue import search
from apps.releases.models import Kind
from apps.room import MenuEntry

SHOWN = 6
# Of the namespaces that have a word of the query in their names.
MAX_NAMESPACES = 50
# Modules, and providers, of which a tab is offered.
MAX_OF_A_KIND = 2
# Shorter words begin too many labels of tabs.
SHORTEST = 3
# As in `members of acme`.
_LITTLE = {"of", "in", "the", "for"}

_SIGN_IN = MenuEntry("Sign in", settings.LOGIN_URL, "log-in", words="log in account password")
_PROVIDER = MenuEntry("Publish a provider", "portal:provider-publish", "upload", words="upload release new")
_NAMESPACE = MenuEntry("New namespace", "portal:namespace-new", "plus", words="create")
# Beside what the menus have: pages that others lead to.
_MORE = (
    MenuEntry("Your modules and providers", "portal:mine", "package", words="mine own publish"),
    MenuEntry("Second factor", "portal:second-factor", "shield-check", words="two 2fa totp codes settings security"),
    MenuEntry("Mail", "portal:mail", "mail", words="notifications address watch letters settings"),
    MenuEntry("Your activity", "portal:own-activity", "history", words="audit log my"),
)
_API = MenuEntry("API documentation", "portal:api-docs", "book-open", words="openapi docs reference")


@dataclass(frozen=True, slots=True)
class Action:
    """`words` are other words that people use for it."""

    label: str
    url: str
    icon: str
    words: str = ""


def actions_for(viewer: Viewer, query: str) -> list[Action]:
    """Those whose label or other words have each word of the query; the first ones without a query."""
    words = words_of(query)
    words = [word for word in words if word not in _LITTLE] or words
    pages = (Action(one.label, reverse(one.route), one.icon, one.words) for one in _pages(viewer))
    found = [action for action in pages if _has(action, words)]
    if words:
        found += [action for action in _namespace_actions(viewer, words) if _has(action, words)]
        found += _version_actions(viewer, words)
    return found[:SHOWN]


def _has(action: Action, words: list[str]) -> bool:
    text = f"{action.label} {action.words}".casefold()
    return all(begins_a_part(word, text) for word in words)


def _pages(viewer: Viewer) -> list[MenuEntry]:
    """Pages without a name in their address: those that people need often first."""
    found = [_SIGN_IN]
    if viewer.is_identified:
        found = [menu.PUBLISH, _PROVIDER, *menu.YOU]
        found += [] if creation_refused(viewer) else [_NAMESPACE]
        found += _MORE
    found += [*menu.operate(viewer), *menu.main(viewer), *menu.for_readers(), _API]
    by_route: dict[str, MenuEntry] = {}
    for one in found:
        by_route.setdefault(one.route, one)
    return list(by_route.values())


def _namespace_actions(viewer: Viewer, words: list[str]) -> Iterator[Action]:
    """The sections of each namespace whose name one of the words begins a part of, that the person may open."""
    named = reduce(or_, (Q(canonical__contains=canonical(word)) for word in words))
    seen = gate.visible_namespaces(viewer).filter(named)
    rows: QuerySet[Any] = seen.annotate(held=gate.highest_role(viewer.user))
    operates = gate.operates(viewer)
    for row in rows.order_by("canonical", "pk")[:MAX_NAMESPACES]:
        if not any(begins_a_part(word, row.name.casefold()) for word in words):
            continue
        role = Role.OWNER if operates else None if row.held is None else Role(row.held)
        for tab, sections in namespace_tabs.seen_by(role):
            for one in sections:
                path = (row.name, tab.label) if one.label == tab.label else (row.name, tab.label, one.label)
                yield Action(" / ".join(path), reverse(one.route, args=[row.name]), one.icon, one.words)


def _version_actions(viewer: Viewer, words: list[str]) -> Iterator[Action]:
    """The tabs that one of the words names, of the modules and providers that the others find."""
    for kind in (Kind.MODULE, Kind.PROVIDER):
        for tab in tabs.table(kind):
            label = tab.label.casefold()
            said = [word for word in words if len(word) >= SHORTEST and begins_a_part(word, label)]
            rest = " ".join(word for word in words if word not in said)
            if not said or not search.asked_words(rest):
                continue
            docs = search.search(kind=kind, namespaces=gate.visible_namespaces(viewer), query=rest)
            for doc in docs.select_related("namespace")[:MAX_OF_A_KIND]:
                address = address_of(doc)
                url = url_of(address, tab.page, *([] if tab.of_all else [doc.version]))
                yield Action(f"{address} / {tab.label}", url, "package" if kind == Kind.MODULE else "layers")
