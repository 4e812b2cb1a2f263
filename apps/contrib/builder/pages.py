"""The usage builder: a form over the inputs that writes the module block with what was changed, as a plain GET form.

What is entered is in the URL, so the page asks for no secret: a sensitive input is set from a variable.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.access.gate import Viewer
from apps.contrib.builder import values
from apps.contrib.builder.values import Expression, Value
from apps.lib.errors import Invalid, NotFound
from apps.modules.inspection.language import types
from apps.portal.frame.page_urls import page_of, url_of
from apps.portal.modules.frame import MODULES
from apps.portal.modules.rows import matching
from apps.portal.modules.units import CalledUnit, Unit, Units
from apps.releases.lifecycle import quarantine
from apps.snippets.module_snippets import module_block

PAGE = 40
MAX_SET = 400  # inputs; Django takes 1,000 fields of a form
PREFIX = "i."
NAME = re.compile(r"[A-Za-z_][\w-]*")
Sent = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Field:
    """One input in the form. `kind`: secret, bool, line or lines. `is_default`: what was entered is the default."""

    variable: dict[str, Any]
    kind: str
    entered: str = ""
    value: Value | None = None
    error: str = ""
    is_default: bool = False

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.variable['name']}"

    @property
    def is_missing(self) -> bool:
        return bool(self.variable["required"]) and self.value is None


def link(_viewer: Viewer, call: CalledUnit) -> dict[str, str] | None:
    """Return the address of the form, for the page that shows the block."""
    if call.unit.kind not in ("root", "submodule") or not call.unit.variables:
        return None
    folder = f"?{urlencode({'folder': call.unit.path})}" if call.unit.path else ""
    return {"url": url_of(call.address, "usage", call.version) + folder}


@login_not_required
@require_safe
def module_usage(request: HttpRequest, *, version: str, **names: str) -> HttpResponse:
    opened = MODULES.open(request, version, names)
    quarantine.refuse_blocked(opened.shown.release)
    context = MODULES.frame(opened, "usage")
    unit = _unit_of(context["units"], request.GET.get("folder", ""))
    if unit is None:
        raise NotFound(f"{opened.shown} has no module in this folder.", hint="Choose one of its submodules.")
    variables = [one for one in [*unit.required, *unit.optional] if NAME.fullmatch(one["name"])]
    fields = [field_of(variable, request.GET) for variable in variables]
    context |= {"folder": unit, "is_asked": any(name.startswith(PREFIX) for name in request.GET)}
    wrong = [field for field in fields if field.error]
    missing = [field for field in fields if field.is_missing and not field.error]
    chosen = [field for field in fields if field.value is not None and not field.is_default][:MAX_SET]
    lines = [f"# Required: {_in_one_line(field.variable)}" for field in missing[:MAX_SET]]
    pairs = [(field.variable["name"], field.value) for field in chosen if field.value is not None]
    lines += values.attributes(pairs)
    block = module_block(opened.shown.module.address, opened.shown.release.version, folder=unit.path, lines=lines)
    # A page of the form. What was entered on other pages goes with it, unseen.
    query = request.GET.get("q", "").replace("\0", "").strip()[:200]
    wanted = {row["name"] for row in matching([field.variable for field in fields], query)}
    page = page_of([field for field in fields if field.variable["name"] in wanted], request, size=PAGE)
    here = {field.name for field in page.object_list}
    carried = [field for field in fields if field.entered and field.name not in here][:MAX_SET]
    context |= {"written": block, "wrong": wrong, "missing": missing, "chosen": chosen} | {
        "page": page,
        "query": query,
        "carried": carried,
        "input_count": len(fields),
    }
    return render(request, "portal/builder/form.html", context)


def _unit_of(units: Units, folder: str) -> Unit | None:
    if not folder and not units.has_root:
        return next(iter(units.submodules), None)
    return next((unit for unit in units.all if unit.path == folder and unit.kind in ("root", "submodule")), None)


def field_of(variable: dict[str, Any], sent: Sent) -> Field:
    kind = {"bool": "bool", "string": "line", "number": "line"}.get(_type_of(variable).name, "lines")
    if variable.get("sensitive") or variable.get("ephemeral"):
        kind = "secret"
    entered = sent.get(f"{PREFIX}{variable['name']}", "").replace("\0", "").replace("\r\n", "\n")
    if not entered.strip():
        return Field(variable, kind)
    if kind == "secret":
        return Field(variable, kind, "on", Expression(f"var.{variable['name']}"))
    try:
        value = values.read(entered, _type_of(variable))
        if value == values.NULL and variable.get("nullable") is False:
            raise Invalid("found null, expected a value: the input is not nullable")
    except Invalid as refusal:
        return Field(variable, kind, entered, error=". ".join(filter(None, (str(refusal), refusal.hint))))
    is_default = False
    if not variable["required"] and "value" in variable:
        one, default = values.as_json(value), variable["value"]
        is_default = bool(one == default) and isinstance(one, bool) == isinstance(default, bool)  # True is no 1
    return Field(variable, kind, entered, value, is_default=is_default)


def _type_of(variable: dict[str, Any]) -> types.Type:
    try:
        return types.parse(variable["type"])
    except Invalid:  # the clients' matter
        return types.ANY


def _in_one_line(variable: dict[str, Any]) -> str:
    """Return the text in one line, so that pasted text does not continue after the comment."""
    kind = " ".join(variable["type"].split())
    return f"{variable['name']} ({kind[:60]})" if kind else str(variable["name"])


urlpatterns = [path(f"{MODULES.path}/<str:version>/usage", module_usage, name="module-usage")]
