"""Entries of the main navigation and of the account menu, declared once: the header shows them, the palette finds them.

The account menu has two groups, apart: what is the person's own, and what staff operate.
"""

from apps.accounts.access.gate import OPERATE as OPERATE_NAMESPACES
from apps.accounts.access.gate import Viewer
from apps.room import MenuEntry, rooms

# `key`: further routes that belong to the entry, so that it is marked as the current one there.
MAIN = (
    MenuEntry("Modules", "portal:modules", "package", words="browse list all"),
    MenuEntry("Providers", "portal:providers", "layers", words="browse list all"),
    MenuEntry(
        "Docs",
        "portal:how-to",
        "book-open",
        key="portal:help portal:help-page portal:api-docs portal:api-docs-group",
        words="how to use help documentation manual guide login setup credentials ci search",
    ),
)
PUBLISH = MenuEntry("Publish", "portal:publish", "upload", key="portal:provider-publish", words="upload release new")

RELEASES = MenuEntry("My releases", "portal:own-releases", "package-plus", words="uploads drafts waiting")
APPROVALS = MenuEntry("Approvals", "portal:approvals", "shield-check", words="approve releases review")
YOU = (
    RELEASES,
    APPROVALS,
    MenuEntry("Tokens", "portal:tokens", "key-round", words="new create api token credentials"),
    MenuEntry("Namespaces", "portal:namespaces", "folder", words="list all roles"),
    MenuEntry("Teams", "portal:teams", "users", words="people groups members"),
    MenuEntry("Account", "portal:account", "user", words="profile settings password sessions passkeys sign out"),
)
_OVERVIEW = MenuEntry("Overview", "admin:index", "wrench", words="operate admin data jobs")
# After those of the rooms.
_OPERATE = (
    MenuEntry(
        "Invitations", "portal:invitations", "mail", permission=OPERATE_NAMESPACES, words="invite people new user"
    ),
    MenuEntry(
        "Storage in use",
        "admin:storage",
        "hash",
        permission="releases.view_release",
        words="disk usage free space bytes",
    ),
    MenuEntry("Status", "status", "circle-check", words="health parts queue versions up down"),
)


def main(viewer: Viewer) -> tuple[MenuEntry, ...]:
    return (*MAIN, PUBLISH) if viewer.is_identified else MAIN


def operate(viewer: Viewer) -> list[MenuEntry]:
    """Return what this member of staff may open; nothing for other people."""
    user = viewer.user
    if user is None or not user.is_staff:
        return []
    entries = (_OVERVIEW, *(entry for room in rooms() for entry in room.staff_menu), *_OPERATE)
    return [entry for entry in entries if not entry.permission or user.has_perm(entry.permission)]


def for_readers() -> list[MenuEntry]:
    """Return what the rooms offer to everyone who installs; `offer` is the sentence about it."""
    return [entry for room in rooms() for entry in room.reader_menu]
