"""Actions of the admin that ask for a reason first, on a page which shows what they are about (D19)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse

from apps.accounts.access.gate import Viewer
from apps.accounts.admin.actors import actor_of
from apps.admin_base import Act, row_link
from apps.admin_base.base import ACTION_ROWS

ROWS_SHOWN = 20


class ReasonForm(forms.Form):
    def __init__(self, data: QueryDict | None, most: int, help_text: str) -> None:
        super().__init__(data)
        text = forms.Textarea(attrs={"rows": 3, "cols": 60})
        self.fields["reason"] = forms.CharField(max_length=most, widget=text, help_text=help_text)

    def clean_reason(self) -> str:
        """Join the lines of the text field: the verbs take one."""
        return " ".join(str(self.cleaned_data["reason"]).split())


@dataclass(frozen=True, slots=True)
class Reasoned:
    name: str
    title: str
    lead: str
    done: str
    verb: Callable[[Any, Viewer, str], object]
    offered: Callable[[Any], bool] = lambda _row: True
    heads: Sequence[str] = ("What",)
    cells: Callable[[Any], Sequence[object]] = lambda _row: ()  # beside its name
    rows: str = ""  # their name in the plural
    is_final: bool = False  # it breaks what others use, and cannot be undone

    def run(
        self, most: int, help_text: str, admin: Any, request: HttpRequest, queryset: QuerySet[Any]
    ) -> HttpResponse | None:
        form = ReasonForm(request.POST if "apply" in request.POST else None, most, help_text)
        rows = list(queryset.order_by("pk")[: ACTION_ROWS + 1])
        if form.is_valid():
            actor, reason = actor_of(request), form.cleaned_data["reason"]
            admin.apply_verb(request, rows, lambda row: self.verb(row, actor, reason), done=self.done)
            return None  # back to the list
        chosen = rows[:ACTION_ROWS]
        context: dict[str, Any] = {
            **admin.admin_site.each_context(request),
            "title": f"{self.title}: {rows[0]}"
            if len(rows) == 1
            else f"{self.title}: {len(chosen)} {self.rows or 'rows'}",
            "opts": admin.opts,
            "act": self,
            "form": form,
            "chosen": [row.pk for row in chosen],
            "checkbox": ACTION_CHECKBOX_NAME,
            "shown": [(row_link(row), self.cells(row)) for row in chosen[:ROWS_SHOWN]],
            "unshown": max(0, len(chosen) - ROWS_SHOWN),
            "most": ACTION_ROWS if len(rows) > ACTION_ROWS else 0,
        }
        return TemplateResponse(request, "admin/act.html", context)


def acts(permission: str, most: int, help_text: str, *declared: Reasoned) -> dict[str, Act]:
    """Return the actions by their names. A reason has at most so many characters; `help_text` says who reads it."""
    return {
        one.name: Act(
            f"{one.title} {f'selected {one.rows}' if one.rows else '(selected)'}…",
            permission,
            partial(one.run, most, help_text),
            button=f"{one.title}…",
            offered=one.offered,
        )
        for one in declared
    }
