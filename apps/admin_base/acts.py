"""Acts on rows: each is declared once, for the drop-down of a list, for its rows, and for the page of a row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from apps.admin_base.markup import filled

# The name that a button in a row sends, with the name of its act and the key of its row.
PARAMETER = "row_act"
# The empty form of a page that has rows with buttons: a list has a form of its own around its rows.
FORM = "row-acts"
# Sent with it by the overview, which shows rows of several lists: it is shown again.
FROM_OVERVIEW = "overview"
# Further buttons of a row fold: fifty rows with six each are a wall.
SHOWN = 2


@dataclass(frozen=True, slots=True)
class Act:
    """An action of a list and, if it has a `button`, of each row and of a row's own page."""

    label: str
    permission: str
    run: Callable[[Any, HttpRequest, QuerySet[Any]], HttpResponse | None]  # the admin first
    button: str = ""
    # Tells whether to show the button for this row; the verb still decides.
    offered: Callable[[Any], bool] = lambda _row: True
    # `offered` reads the database: the button is on the row's page only.
    is_costly: bool = False
    # What it does to others, for an act that cannot be undone and asks for no reason: its button leads to a page that
    # says so.
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Button:
    """A button of one row: `act` is sent, or else `url` is opened."""

    words: str
    act: str = ""
    url: str = ""


def offered(row: Any, acts: Mapping[str, Act]) -> list[Button]:
    return [Button(act.button, act=name) for name, act in acts.items() if act.offered(row)]


def buttons(row: Any, found: Sequence[Button], *, url: str = "") -> SafeString:
    """Render the buttons of a row. `url`: of its list, where the page is another one."""
    target = filled(' formaction="{}"', url) if url else ""
    drawn = [_drawn(row, one, target) for one in found]
    if len(drawn) <= SHOWN:
        return filled('<div class="row-acts">{}</div>', _joined(drawn))
    return filled(
        '<div class="row-acts">{}<details class="row-acts__more"><summary class="button button--small">More'
        '<span class="visually-hidden"> for {}</span></summary><div class="row-acts">{}</div></details></div>',
        drawn[0],
        row,
        _joined(drawn[1:]),
    )


def _drawn(row: Any, button: Button, target: str) -> SafeString:
    words = filled('{}<span class="visually-hidden"> {}</span>', button.words, row)
    if button.url:
        return filled('<a class="button button--small" href="{}">{}</a>', button.url, words)
    return filled(
        '<button class="button button--small" type="submit" form="{}" name="{}" value="{}:{}"{}>{}</button>',
        FORM,
        PARAMETER,
        button.act,
        row.pk,
        target,
        words,
    )


def _joined(drawn: Sequence[SafeString]) -> SafeString:
    return SafeString("".join(drawn))
