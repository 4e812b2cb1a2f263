"""An example as a ready configuration: its files, calling this registry's address and version."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.lib.errors import NotFound
from apps.modules import usage_examples
from apps.portal.modules.frame import MODULES
from apps.portal.snippets.module_snippets import source_of
from apps.releases.lifecycle import quarantine


@login_not_required
@require_safe
def module_configuration(request: HttpRequest, *, version: str, unit: str, **names: str) -> HttpResponse:
    opened = MODULES.open(request, version, names)
    quarantine.refuse_blocked(opened.shown.release)
    context = MODULES.frame(opened, "examples")
    example = context["units"].named("example", unit)
    if example is None:
        raise NotFound(f"{context['address']} {version} has no example {unit!r}.")
    called = [one.path for one in context["units"].all if one.kind in ("root", "submodule")]
    sources = {folder: source_of(context["address"], folder) for folder in called}
    row = next(one for one in opened.shown.inspection["units"] if one["path"] == example.path)
    context |= {"unit": example, "ready": usage_examples.ready(opened.shown, row, sources=sources)}
    return render(request, "portal/module/configuration.html", context)


urlpatterns = [
    path(f"{MODULES.path}/<str:version>/configurations/<path:unit>", module_configuration, name="module-configuration"),
]
