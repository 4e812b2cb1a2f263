"""The settings of a web server that serves the static copy, and of a follower, read at the start."""

from dataclasses import dataclass
from typing import Any

from apps.lib.settings_values.outgoing import certificates_in


@dataclass(frozen=True, slots=True)
class Edge:
    """The bounds of an answer about a permission where it is remembered, and the secret of links to packages."""

    fresh_seconds: int
    stale_hours: int  # while Larder is away
    secret: str  # empty: no links


@dataclass(frozen=True, slots=True)
class Follow:
    """The leader of a follower; `url` is empty for a Larder that is none."""

    url: str = ""
    token: str = ""
    key_ids: tuple[str, ...] = ()  # empty: that of the first manifest
    ca_file: str = ""  # PEM certificates trusted besides the system's


def read_edge(env: Any) -> Edge:
    """Read them by the readers of variables, which a room below the settings is given."""
    return Edge(
        env.number("LARDER_STATIC_COPY_FRESH_SECONDS", 60, least=1, most=3600),
        env.number("LARDER_STATIC_COPY_HOURS", 24, least=1, most=168),
        next(iter(env.secrets_in("LARDER_STATIC_COPY_SECRET_FILE")), ""),
    )


def read_follow(env: Any) -> Follow:
    ca_file = env.text("LARDER_FOLLOW_CA_FILE")
    with env.stopping("LARDER_FOLLOW_CA_FILE"):
        certificates_in(ca_file)
    return Follow(
        url=env.public_url("LARDER_FOLLOW", ""),
        token=next(iter(env.secrets_in("LARDER_FOLLOW_TOKEN_FILE")), ""),
        key_ids=tuple(env.words("LARDER_FOLLOW_KEY")),
        ca_file=ca_file,
    )
