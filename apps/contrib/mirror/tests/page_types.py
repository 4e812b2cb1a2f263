"""The page types of mirrored registries (see tests/browser/page_types.py)."""

from typing import Any

OTHER: dict[str, Any] = {"host": "registry.opentofu.org"}
RANDOM = {**OTHER, "mirrored_namespace": "hashicorp", "mirrored_type": "random"}
RECORD = {"kind": "resources", "slug": "record"}
PAGES = {
    "upstream-policy": [({"host": "registry.example"}, "")],
    "mirror": [({}, "")],
    "mirror-add": [({}, ""), ({}, "?host=registry.opentofu.org")],
    "mirror-upstream": [(OTHER, ""), ({"host": "registry.corp.example"}, "")],
    "mirror-change": [(OTHER, "")],
    "mirror-remove": [(OTHER, "")],
    "mirror-providers": [({}, ""), ({}, "?q=nothing-is-called-so")],
    "mirror-provider": [(RANDOM, "")],
    "mirror-version": [({**RANDOM, "version": version}, "") for version in ("3.5.1", "3.7.0")],
    "mirror-docs": [({**RANDOM, "version": version}, "") for version in ("3.5.1", "3.6.3", "3.7.0")],
    "mirror-docs-page": [({**RANDOM, "version": "3.5.1", **RECORD}, "")],
    "lock": [({}, "")],
    "lock-run": [({"lock_id": lambda shelf: shelf.known["lock"]}, "")],
    "sync": [({}, "")],
    "sync-run": [({"sync_id": lambda shelf: shelf.known["sync"]}, "")],
    "mirror-alarms": [({}, ""), ({}, "?state=dismissed")],
    "mirror-alarm": [({"alarm_id": lambda shelf, at=at: shelf.known["mirror"][at]}, "") for at in range(1, 5)],
    "mirror-key": [({**OTHER, "pin_id": lambda shelf: shelf.known["mirror"][0]}, "")],
    "mirror-unsigned": [(OTHER, "")],
    "mirror-unsigned-withdraw": [({**OTHER, "mirrored_namespace": "kreuzwerker"}, "")],
}
NO_PAGES = {
    "lock-file",
    "sync-confirm",
    "sync-cancel",
    "sync-schedule-end",
    "upstream-exception-add",
    "upstream-exception-withdraw",
}
