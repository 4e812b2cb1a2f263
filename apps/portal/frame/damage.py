"""What owners and staff are told of stored bytes that a check, or a download, has found missing or damaged."""

from collections.abc import Iterable

from apps.accounts.models import Role
from apps.blobs.integrity import known


def told_to(role: Role | None, files: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """`files` are names and digests. Names and problems, for portal/lifecycle/damage.html; nothing for other people."""
    if role != Role.OWNER:
        return []
    return [(name, known.problem_of(digest)) for name, digest in files if known.problem_of(digest)]
