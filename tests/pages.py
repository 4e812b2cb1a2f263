"""Pages as tests read them: how a template is wrapped does not matter."""

import html
import re

from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

_PREFORMATTED = re.compile(r"(<(?:pre|textarea)\b.*?</(?:pre|textarea)>)", re.DOTALL)
# No blank shows at the begin or end of an element, nor after a block, nor inside the end of a tag.
_BLOCKS = "th|td|tr|li|div|p|option|ul|ol|section|h\\d|dt|dd"
_UNSEEN = re.compile(rf"(?<=<)([a-z][^<>]*?) ?(>) |(?<=<)([a-z][^<>]*?) (>)| (?=</)|(</(?:{_BLOCKS})>) ")


def markup_of(response: HttpResponse) -> str:
    """The HTML with each run of whitespace as one blank, and none where a browser shows none."""
    parts = _PREFORMATTED.split(response.content.decode())
    parts[::2] = [_squeeze(part) for part in parts[::2]]
    return "".join(parts)


def text_of(response: HttpResponse) -> str:
    """The same, with characters in place of entities."""
    return html.unescape(markup_of(response))


def shown(response: HttpResponse) -> str:
    """The text of a page that is there."""
    assert response.status_code == 200
    return text_of(response)


def queries_of(client: Client, url: str) -> int:
    """The price of a page that is there."""
    client.get(url)  # the number in the menu lasts for a minute, or until the person acts
    with CaptureQueriesContext(connection) as queries:
        response = client.get(url)
    assert response.status_code == 200, url
    return len(queries)


def _squeeze(text: str) -> str:
    text, before = re.sub(r"\s+", " ", text), ""
    while text != before:
        before, text = text, _UNSEEN.sub(lambda found: "".join(group or "" for group in found.groups()), text)
    return text
