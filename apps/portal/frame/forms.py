"""Shared parts of forms: their fields' attributes, the sentence of a refusal, and the status of the page that shows
them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from apps.lib.errors import Conflict, Invalid, RegistryError

# For names, addresses and codes: browsers neither complete nor correct them.
PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
# For user names: partials/known_people.html is on the page, with those to suggest.
PERSON = PLAIN | {"list": "known-people"}


class PlainField(forms.CharField):
    """A name, an address or a code on one line."""

    def __init__(self, *, inputmode: str = "text", **more: Any) -> None:
        attrs = PLAIN if inputmode == "text" else PLAIN | {"inputmode": inputmode}
        super().__init__(widget=forms.TextInput(attrs), **more)


class ReasonField(forms.CharField):
    """One or two sentences; `help_text` says who reads them."""

    def __init__(self, max_length: int, help_text: str) -> None:
        super().__init__(max_length=max_length, help_text=help_text, widget=forms.Textarea({"rows": 2}))


def posted(request: HttpRequest) -> QueryDict | None:
    """Return the data that a form is bound to. None for a page that was only opened, whose form is never valid."""
    return request.POST if request.method == "POST" else None


@contextmanager
def refusals_on(form: forms.Form, field: str | None = None) -> Iterator[None]:
    """Show what a verb refuses at the field, or above the form: the page then shows the form again."""
    try:
        yield
    except (Conflict, Invalid) as refusal:
        code = "conflict" if isinstance(refusal, Conflict) else "invalid"
        form.add_error(field, forms.ValidationError(sentence(refusal), code=code))


def form_page(request: HttpRequest, template: str, form: forms.Form, **context: object) -> HttpResponse:
    """The page around a form that was only opened, or has errors: 409 for a conflict, else 422."""
    errors = [error.code for found in form.errors.as_data().values() for error in found]
    status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
    status = HTTPStatus.CONFLICT if "conflict" in errors else status
    return render(request, template, {**context, "form": form}, status=status)


def sentence(refusal: RegistryError) -> str:
    """The error and its hint, as sentences for a page."""
    found = []
    for text in filter(None, (str(refusal), refusal.hint)):
        # Capitalised, except an address: another letter case would be another name.
        capitalised = text if "/" in text.split(maxsplit=1)[0] else text[0].upper() + text[1:]
        found.append(capitalised + ("" if text[-1] in ".?!)" else "."))
    return " ".join(found)
