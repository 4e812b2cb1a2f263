"""Warnings to owners and staff about stored bytes found missing or damaged by a check or a download."""

from collections.abc import Iterable

from apps.accounts.models import Role
from apps.blobs.care.integrity import known


def warnings_for(role: Role | None, files: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(name, problem) for portal/lifecycle/damage.html; `files` are (name, digest). Empty for other readers."""
    if role != Role.OWNER:
        return []
    return [(name, known.problem_of(digest)) for name, digest in files if known.problem_of(digest)]
