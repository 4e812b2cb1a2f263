"""A rule on the shelf, for pre-releases older than a month."""

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, User
from apps.contrib.cleanup import rules


def fill(namespace: Namespace, admin: User, _hostile: str) -> dict[str, list[int]]:
    rules.change(namespace=namespace, actor=Viewer(admin), prerelease_days=30)
    return {}
