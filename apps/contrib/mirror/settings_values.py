"""The settings of all registries whose providers are mirrored, read at the start."""

import os
from dataclasses import dataclass
from typing import Any

from apps.lib.errors import Invalid
from apps.lib.settings_values.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class Upstream(Outgoing):
    advisories: str = ""  # a folder of OSV files
    connections: int = 4  # to one host at once, for each worker


def read(env: Any) -> Upstream:
    """Read them by the readers of variables, which a room below the settings is given."""
    name = "LARDER_UPSTREAM_ADVISORIES"
    with env.stopping(name):
        advisories = readable_folder(env.text(name))
    connections = env.number("LARDER_UPSTREAM_CONNECTIONS", 8, least=1, most=64)
    olds = {part: f"LARDER_UPSTREAM_{part.upper()}" for part in ("allow", "ca_file", "proxy")}
    return Upstream(**env.way_out("mirror", **olds), advisories=advisories, connections=connections)


def readable_folder(folder: str) -> str:
    """Return the folder, or none. Raises Invalid unless its files can be listed."""
    if folder:
        try:
            with os.scandir(folder):
                pass
        except OSError as error:
            raise Invalid(
                f"{folder} cannot be read: {error.strerror}.",
                hint="Expected a folder of OSV files.",
            ) from None
    return folder
