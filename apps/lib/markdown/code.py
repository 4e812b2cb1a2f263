"""Highlight code blocks as file pages do, within limits of size and time for each text."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token

from apps.lib.text.highlighting import language_of_label, lines_of

MAX_CHARACTERS = 64 * 1024
MAX_SECONDS = 1.0


@dataclass
class Budget:
    """For one text: a thousand short blocks cost no more than one long one."""

    characters: int = MAX_CHARACTERS
    end: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def seconds_for(self, code: str) -> float:
        """Seconds for these characters; 0 once the budget is spent."""
        self.characters -= len(code)
        return max(0.0, self.end - time.monotonic()) if self.characters >= 0 else 0.0


def fence(_: RendererProtocol, tokens: Sequence[Token], at: int, _options: Any, env: Any) -> str:
    token = tokens[at]
    language = language_of_label(token.info)
    budget: Budget = env.setdefault("code_budget", Budget())
    seconds = budget.seconds_for(token.content) if language else 0.0
    shown = "\n".join(lines_of(token.content, language, seconds=seconds)) + "\n" if seconds else escape(token.content)
    return f"<pre><code>{shown}</code></pre>\n"
