"""The inputs, outputs and resources of a folder in pages, and a permanent address for each input and output."""

from dataclasses import astuple, replace
from typing import Any
from urllib.parse import quote

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path, reverse
from django.views.decorators.http import require_safe

from apps.lib.errors import NotFound
from apps.portal.frame.page_urls import NumberedPage, page_of, url_of
from apps.portal.modules.frame import MODULES
from apps.portal.modules.units import Rows, Unit, Units
from apps.portal.versions.pages import Contents, Opened

PAGE = 200
LISTS = ("variables", "outputs", "resources")


def ordered(unit: Unit) -> Unit:
    """Return the unit in the order of pages: required inputs first."""
    return replace(
        unit, variables=[*unit.required, *unit.optional], resources=[*unit.managed, *unit.data_sources, *unit.ephemeral]
    )


def part_of(unit: Unit, request: HttpRequest) -> tuple[Unit, NumberedPage]:
    """A page of all three lists at once: the longest decides how many there are."""
    whole = ordered(unit)
    page = page_of(max((getattr(whole, name) for name in LISTS), key=len), request, size=PAGE)
    return _slice(whole, page), page


def tab_of(name: str) -> Contents:
    """The tab of the module's own `name`, one of LISTS; `?q=` finds words in it."""

    def more(request: HttpRequest, _opened: Opened, context: dict[str, Any]) -> None:
        query = request.GET.get("q", "").replace("\0", "").strip()[:200]
        whole = ordered(context["root"])
        some: Any = matching(getattr(whole, name), query)
        found = replace(whole, **{name: some})
        page = page_of(some, request, size=PAGE)
        context |= {"part": _slice(found, page), "full": found, "page": page, "query": query}

    return more


def _slice(unit: Unit, page: NumberedPage) -> Unit:
    begin = (page.number - 1) * PAGE
    return replace(unit, **{name: getattr(unit, name)[begin : begin + PAGE] for name in LISTS})


def matching(rows: Rows, query: str) -> Rows:
    words = query.casefold().split()
    fields = ("name", "type", "description", "provider")
    texts = (" ".join(str(row.get(field) or "") for field in fields).casefold() for row in rows)
    return (
        [row for row, text in zip(rows, texts, strict=True) if all(word in text for word in words)] if words else rows
    )


@login_not_required
@require_safe
def module_input(request: HttpRequest, *, version: str, input_name: str, **names: str) -> HttpResponse:
    """/modules/<address>/<version>/inputs/<name> leads to the input, whatever page it is on.

    `?folder=modules/vpc` means the input of a submodule, example or other folder.
    """
    return _leading(request, MODULES.open(request, version, names), "variables", input_name)


@login_not_required
@require_safe
def module_output(request: HttpRequest, *, version: str, output_name: str, **names: str) -> HttpResponse:
    return _leading(request, MODULES.open(request, version, names), "outputs", output_name)


def _leading(request: HttpRequest, opened: Opened, rows: str, name: str) -> HttpResponseRedirect:
    what = "output" if rows == "outputs" else "input"
    folder = request.GET.get("folder", "")
    units = Units.from_version(opened.shown)
    unit = next((one for one in units.all if one.path == folder), None) if folder else units.root
    if unit is None:
        raise NotFound(f"{opened.shown} has no folder {folder!r} with configuration.")
    position = next((at for at, one in enumerate(getattr(ordered(unit), rows)) if one["name"] == name), None)
    if position is None:
        raise NotFound(f"{opened.shown} has no {what} {name!r}{f' in {folder}' if folder else ''}.")
    page = f"?page={position // PAGE + 1}" if position >= PAGE else ""
    address, version = opened.shown.module.address, opened.shown.release.version
    shown = (
        reverse(unit.route, args=[*astuple(address), version, unit.slug])
        if folder
        else url_of(address, f"{what}s", version)
    )
    return HttpResponseRedirect(f"{shown}{page}#{what}_{quote(name)}")


_VERSION = f"{MODULES.path}/<str:version>"

urlpatterns = [
    path(f"{_VERSION}/inputs/<str:input_name>", module_input, name="module-input"),
    path(f"{_VERSION}/outputs/<str:output_name>", module_output, name="module-output"),
]
