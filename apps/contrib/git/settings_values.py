"""The settings of all Git servers, read at the start."""

from typing import Any

from apps.lib.settings_values.outgoing import Outgoing


def read(env: Any) -> Outgoing:
    """Read it by the readers of variables, which a room below the settings is given."""
    olds = {part: f"LARDER_SOURCES_{part.upper()}" for part in ("allow", "ca_file", "proxy")}
    return Outgoing(**env.way_out("git", **olds))
