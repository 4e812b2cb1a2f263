"""Placeholder until helper C's inspection lands: overwrite this file."""

from collections.abc import Mapping
from typing import Any

INSPECTOR = "0"
WANTED = ("readme.md", "readme.markdown", "readme")


def inspect(texts: Mapping[str, bytes], sizes: Mapping[str, int]) -> dict[str, Any]:  # noqa: ARG001
    return {"units": []}
