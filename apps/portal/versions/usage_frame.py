"""The frame of the tab Usage. Its parts are pages of their own: overview, downloads, those of rooms, old versions."""

from typing import Any

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.portal.frame.page_urls import url_of
from apps.portal.versions.pages import VersionPages
from apps.releases.catalogue.reading import require_published
from apps.releases.models import Lifecycle
from apps.room import rooms


def usage_frame(
    pages: VersionPages, viewer: Viewer, parent: Any, role: Role, *, part: str, number: str = ""
) -> dict[str, Any]:
    """Old versions are a part for owners, and where there are some. Raises NotFound where nothing can be read."""
    frame = pages.frame_of_all(viewer, parent, role, "users", number)
    is_owner = viewer.is_identified and role.covers(Role.OWNER)
    left_out = set()
    if part != "outdated":
        if "release" not in frame:
            require_published(parent)
        discouraged = parent.versions.published().exclude(release__lifecycle=Lifecycle.MAINTAINED)
        if not (is_owner and discouraged.exists()):
            left_out.add("outdated")
    labels = {"users": "Overview", "downloads": "Downloads"}
    labels |= {page: label for room in rooms() for page, label in room.usage_parts.items()}
    labels["outdated"] = "Old versions"
    parts = [(one, label, url_of(parent.address, one)) for one, label in labels.items() if one not in left_out]
    return {**frame, "usage_part": part, "usage_parts": parts, "is_owner": is_owner}
