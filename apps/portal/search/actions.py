"""Pages that a person can go to by typing what they want to do: `new token`, `publish`, `members of acme`."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.access.operators import creation_refused
from apps.accounts.models import Role
from apps.lib.text.search_terms import begins_a_part, words_of

SHOWN = 6
# Of the namespaces that the person owns.
MAX_NAMESPACES = 500


@dataclass(frozen=True, slots=True)
class Action:
    """`words` are other words that people use for it."""

    label: str
    url: str
    icon: str
    words: str = ""


_NAMESPACE_PAGES = (
    ("Members of {}", "namespace-members", "users", "roles people access grant settings"),
    ("Signing keys of {}", "keys", "key-round", "gpg settings"),
    ("Settings of {}", "namespace-change", "settings", "visibility description change"),
    ("Storage of {}", "namespace-usage", "hash", "quota usage settings"),
    ("Activity in {}", "namespace-activity", "history", "audit log"),
)


def actions_for(viewer: Viewer, query: str) -> list[Action]:
    """Those whose label or other words have each word of the query; the first ones without a query."""
    words = words_of(query)
    found = [action for action in _actions(viewer) if _has(action, words)]
    if words:
        found += [action for action in _namespace_actions(viewer, words) if _has(action, words)]
    return found[:SHOWN]


def _has(action: Action, words: list[str]) -> bool:
    text = f"{action.label} {action.words}".casefold()
    return all(begins_a_part(word, text) for word in words)


def _actions(viewer: Viewer) -> Iterator[Action]:
    def to(label: str, name: str, icon: str, words: str = "") -> Action:
        return Action(label, reverse(name), icon, words)

    user = viewer.user
    if user is None:
        yield to("Sign in", settings.LOGIN_URL, "log-in", "log in account password")
    else:
        yield to("Publish a module", "portal:publish", "upload", "upload release new")
        yield to("Publish a provider", "portal:provider-publish", "upload", "upload release new")
        yield to("New token", "portal:tokens", "key-round", "create api tokens credentials")
        yield to("Approvals", "portal:approvals", "shield-check", "approve releases second pair of eyes")
        yield to("My releases", "portal:own-releases", "package-plus", "uploads drafts waiting")
        if not creation_refused(viewer):
            yield to("New namespace", "portal:namespace-new", "plus", "create")
        yield to("Teams", "portal:teams", "users", "people groups members")
        yield to("Account", "portal:account", "user", "profile settings password sessions passkeys sign out")
        yield to("Second factor", "portal:second-factor", "shield-check", "two 2fa totp codes settings security")
        yield to("My activity", "portal:own-activity", "history", "audit log")
        if gate.operates(viewer):
            yield to("Invitations", "portal:invitations", "mail", "invite people new user")
        if user.is_staff:
            yield to("Operate", "admin:index", "wrench", "admin jobs")
            if user.has_perm("releases.view_release"):
                yield to("Storage in use", "admin:storage", "hash", "disk usage free space bytes")
    yield to("Modules", "portal:modules", "package", "browse list all")
    yield to("Providers", "portal:providers", "layers", "browse list all")
    yield to("How to use this registry", "portal:how-to", "terminal", "help login setup credentials ci docs")
    yield to("Help", "portal:help", "book-open", "documentation docs manual guide")
    yield to("API documentation", "portal:api-docs", "book-open", "openapi docs reference")


def _namespace_actions(viewer: Viewer, words: list[str]) -> Iterator[Action]:
    names = gate.namespaces_with_role(viewer, Role.OWNER).order_by("name").values_list("name", flat=True)
    for name in names[:MAX_NAMESPACES]:
        if any(begins_a_part(word, name.casefold()) for word in words):
            for label, page, icon, more in _NAMESPACE_PAGES:
                yield Action(label.format(name), reverse(f"portal:{page}", args=[name]), icon, more)
