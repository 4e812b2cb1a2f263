"""The rows of the static copy in the tables of the house tests (see tests/rooms.py)."""

from apps.accounts.models import Namespace, User
from apps.contrib.copy.models import Copy
from apps.contrib.copy.settings_values import Follow

ON_CALL = {
    *("larder_static_copy_behind_seconds", "larder_static_copy_failing", "larder_static_copy_unsigned_seconds"),
    *("larder_follower_behind_seconds", "larder_follower_failing"),
}
PARTS = ("static-copy", "leader")
SMALL = {
    "copy.Bundle": "one for each bundle that was made or imported",
    "copy.Copy": "one for each place",
    "copy.Root": "one for each copy",
    "copy.CountedLog": "one for each rotation of a log",
    "copy.Due": "changes of the last second, or since the copy's storage is away",
}
GROWING: dict[str, dict[str, str]] = {
    "copy.Written": {
        "address": "'modules/acme/m' || g || '/aws'",
        "namespace": "'space-' || (g % 500)",
        "shard": "'00'",
    },
}
# With which the metrics have all that they can have.
WATCHED_SETTINGS = {"FOLLOW": Follow(url="https://leader.example.com")}
# Whether a copy follows changes.
QUERIES_OF_METRICS = 1


def watched(namespace: Namespace, owner: User) -> None:  # others need them
    """Have what the metrics are about."""
    Copy.objects.create(url="file:///srv/larder/copy", made_as="this")


COMPARES_SECRETS = {"apps/contrib/copy/edge/links.py: opened_by": "a link of nginx"}
