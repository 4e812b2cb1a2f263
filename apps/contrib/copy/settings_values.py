"""The settings of the static copy, of a web server that serves it, and of a follower, read at the start."""

from dataclasses import dataclass
from typing import Any

from apps.lib.errors import Invalid
from apps.lib.settings_values import storage_urls
from apps.lib.settings_values.outgoing import Outgoing


@dataclass(frozen=True, slots=True)
class StaticCopy:
    """`url`: `file:///…` or `s3://…`; empty where no copy follows."""

    url: str = ""


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


def read(env: Any) -> StaticCopy:
    """Read it by the readers of variables, which a room below the settings is given."""
    name = "LARDER_STATIC_COPY_URL"
    found = env.url(name, "", "file", "s3")
    with env.stopping(name):
        check(found)
        if found and found == env.text("LARDER_STORAGE_URL"):
            raise Invalid("This is LARDER_STORAGE_URL.", hint="Expected another bucket, prefix or folder.")
    return StaticCopy(found)


def check(url: str) -> None:
    """Raises Invalid for a URL that names no place of a copy."""
    if url and not url.startswith(("file:", "s3:")):
        raise Invalid(f"Found {url.partition('?')[0][:200]!r}.", hint="Expected file:///folder or s3://bucket.")
    storage_urls.check(url)


def read_edge(env: Any) -> Edge:
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
