"""LARDER_MCP, read at the start."""

from importlib.util import find_spec
from typing import Any

from django.core.exceptions import ImproperlyConfigured


def read(env: Any) -> bool:
    """Read a switch that needs the SDK of the Model Context Protocol."""
    is_on: bool = env.switch("LARDER_MCP")
    if is_on and find_spec("mcp") is None:
        raise ImproperlyConfigured(
            "LARDER_MCP is on, but the package mcp is not installed. "
            "Install it with: pip install --require-hashes -r requirements-extras.txt"
        )
    return is_on
