"""The frame of the tab Usage. Its parts are pages of their own: overview, downloads, dependency graph, old versions."""

from typing import Any

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.portal.frame.page_urls import url_of
from apps.portal.versions.pages import VersionPages
from apps.releases.catalogue.reading import require_published
from apps.releases.models import Lifecycle

_PARTS = {"users": "Overview", "downloads": "Downloads", "graph": "Dependency graph", "outdated": "Old versions"}


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
    parts = [(one, label, url_of(parent.address, one)) for one, label in _PARTS.items() if one not in left_out]
    return {**frame, "usage_part": part, "usage_parts": parts, "is_owner": is_owner}
