"""The rows of the static copy in the tables of the house tests (see tests/rooms.py)."""

ON_CALL = {
    *("larder_static_copy_behind_seconds", "larder_static_copy_failing", "larder_static_copy_unsigned_seconds"),
}
PARTS = ("static-copy", "leader")
SMALL = {
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
