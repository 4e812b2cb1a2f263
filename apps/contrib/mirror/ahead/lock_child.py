"""The program that reads lock files and required_providers blocks in a confined process: `lock_texts` starts it."""

from typing import Any

from apps.contrib.mirror.ahead.required_providers import parse_required
from apps.lib.errors import Invalid
from apps.lib.formats import lock_files
from apps.lib.formats.lock_files import Client, LockFile, written

_NEEDS_ALL = 'provider "bücher.example/a/b" {\n  version = "1.0.0"\n}\n'


def prepare() -> None:
    """Load the grammar, and the tables of host names, which a confined process cannot open."""
    lock_files.parse_lock(_NEEDS_ALL)


def main(request: dict[str, Any], _: int) -> dict[str, Any]:
    """Read `lock` and `required_providers`, of which each may be blank; `client` is for a lock file that names none.

    The answer has `client`, the `locks`, each with its address, version, constraints and hashes, and what is
    `required`, each with its address and constraints; or `refused` with the sentence and its hint.
    """
    lock, block = request["lock"], request["required_providers"]
    try:
        client = lock_files.client_of(lock) or Client(request["client"])
        locks = lock_files.parse_lock(lock) if lock.strip() else LockFile()
        required = parse_required(block, default_host=client.default_host) if block.strip() else {}
    except Invalid as refusal:
        return {"refused": [str(refusal), refusal.hint]}
    return {
        "client": str(client),
        "locks": [
            [written(provider), one.version, str(one.constraints), sorted(one.hashes)]
            for provider, one in locks.providers.items()
        ],
        "required": [[written(provider), str(constraints)] for provider, constraints in required.items()],
    }
