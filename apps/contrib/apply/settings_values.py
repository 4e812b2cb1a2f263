"""The setting of the file that describes this registry."""

from typing import Any


def read(env: Any) -> str:
    """Return the path, or nothing."""
    return str(env.text("LARDER_APPLY_FILE"))
