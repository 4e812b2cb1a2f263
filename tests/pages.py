"""Pages as tests read them: how a template is wrapped does not matter."""

import html
import re

from django.http import HttpResponse

_AFTER_START, _BEFORE_END = re.compile(r"(<[a-z][^<>]*>) "), re.compile(r" (</)")


def markup_of(response: HttpResponse) -> str:
    """The HTML with each run of whitespace as one blank, and none where an element begins or ends."""
    text = re.sub(r"\s+", " ", response.content.decode())
    return _BEFORE_END.sub(r"\1", _AFTER_START.sub(r"\1", _AFTER_START.sub(r"\1", text)))


def text_of(response: HttpResponse) -> str:
    """The same, with characters in place of entities."""
    return html.unescape(markup_of(response))
