"""Modules of this registry whose constraint excludes a version, for its page."""

from apps.lib import versions
from apps.modules.dependents import users
from apps.modules.dependents.users import Use
from apps.portal.versions.pages import Opened


def refusing(opened: Opened) -> list[Use]:
    """One query, of those that the viewer sees."""
    release = opened.shown.release
    uses = users.of(opened.viewer, getattr(opened.shown, release.kind).address)
    return users.refusing(uses, versions.parse(release.version))
