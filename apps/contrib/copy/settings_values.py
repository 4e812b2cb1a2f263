"""The place of the static copy, read at the start."""

from dataclasses import dataclass
from typing import Any

from apps.lib.errors import Invalid
from apps.lib.settings_values import storage_urls


@dataclass(frozen=True, slots=True)
class StaticCopy:
    """`url`: `file:///…` or `s3://…`; empty where no copy follows."""

    url: str = ""


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
