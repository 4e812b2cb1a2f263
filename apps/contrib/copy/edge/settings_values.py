"""The settings of a web server that serves the static copy, and of a follower, read at the start."""

from dataclasses import dataclass
from typing import Any

from apps.lib.settings_values.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class Edge:
    """The bounds of an answer about a permission where it is remembered, and the secret of links to packages."""

    fresh_seconds: int
    stale_hours: int  # while Larder is away
    secret: str  # empty: no links


@dataclass(frozen=True, slots=True)
class Follow(Outgoing):
    """The leader of a follower; `url` is empty for a Larder that is none."""

    url: str = ""
    token: str = ""
    key_ids: tuple[str, ...] = ()  # empty: that of the first manifest


def read_edge(env: Any) -> Edge:
    """Read them by the readers of variables, which a room below the settings is given."""
    return Edge(
        env.lifetime("static_copy_fresh_seconds", 60, least=1, most=3600),
        env.lifetime("static_copy_hours", 24, least=1, most=168),
        next(iter(env.secrets_in("LARDER_STATIC_COPY_SECRET_FILE")), ""),
    )


def read_follow(env: Any) -> Follow:
    return Follow(
        **env.way_out("leader", ca_file="LARDER_FOLLOW_CA_FILE"),
        url=env.public_url("LARDER_FOLLOW", ""),
        token=next(iter(env.secrets_in("LARDER_FOLLOW_TOKEN_FILE")), ""),
        key_ids=tuple(env.words("LARDER_FOLLOW_KEY")),
    )
