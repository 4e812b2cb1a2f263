"""/publish.sh, and each version under its digest: for programs, without a session and without the database."""

from http import HTTPStatus

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, require_safe

from apps.snippets import publish_script
from apps.snippets.publish_script import Script

# A pipeline that names no digest gets a new version this late.
MINUTES = 5
# Under its digest it never changes.
DAYS = 365


def _etag(_request: HttpRequest, script: str = "") -> str | None:
    found = publish_script.with_digest(script) if script else publish_script.newest()
    return f'"{found.digest}"' if found else None


@login_not_required
@require_safe
@cache_control(public=True, max_age=MINUTES * 60)
@condition(etag_func=_etag)
def newest(_request: HttpRequest) -> HttpResponse:
    return _answer(publish_script.newest())


@login_not_required
@require_safe
@cache_control(public=True, max_age=DAYS * 24 * 60 * 60, immutable=True)
@condition(etag_func=_etag)
def pinned(_request: HttpRequest, script: str) -> HttpResponse:
    """`script` is its digest."""
    found = publish_script.with_digest(script)
    if found is None:
        known = "".join(f"version {one.version}: {one.path}\n" for one in publish_script.scripts())
        text = f"Found the digest {script[:64]!a}, expected one of a publish.sh that this Larder has:\n{known}"
        return HttpResponse(text, content_type="text/plain; charset=utf-8", status=HTTPStatus.NOT_FOUND)
    return _answer(found)


def _answer(script: Script) -> HttpResponse:
    return HttpResponse(script.body, content_type="text/x-shellscript; charset=utf-8")


urlpatterns = [
    path("publish.sh", newest, name="publish-script"),
    path("publish/<str:script>.sh", pinned, name="publish-script-pinned"),
]
