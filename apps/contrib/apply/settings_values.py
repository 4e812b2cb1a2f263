"""The settings of files that describe this registry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Apply:
    file: str  # applied at the start; "" for none
    variable: Callable[[str], str]  # a variable that a file refers to, "" where it is not set


def read(env: Any) -> Apply:
    return Apply(env.text("LARDER_APPLY_FILE"), env.named_in_a_file)
