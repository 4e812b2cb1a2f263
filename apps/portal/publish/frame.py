"""Shared by both publish pages: a small form starts a release, and shows its errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, TypeVar

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from apps.accounts.access import throttling
from apps.accounts.access.gate import Viewer
from apps.lib.errors import Conflict, Invalid, TooLarge, TooManyAttempts
from apps.portal.frame.forms import sentence
from apps.portal.frame.negotiation import wants_json
from apps.releases.models import Release

Started = TypeVar("Started")


class Refused(Exception):
    """No release was started. The form shows the error, with this status."""

    def __init__(self, status: int, headers: Mapping[str, str] = MappingProxyType({})) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The page around the form: the portal's, or one of the admin's with the same form."""

    template: str
    context: Mapping[str, Any] = field(default_factory=dict)

    def show(
        self, request: HttpRequest, form: forms.Form, more: Mapping[str, Any], status: int = HTTPStatus.OK
    ) -> HttpResponse:
        return render(request, self.template, {**self.context, "form": form, **more}, status=status)

    def again(self, request: HttpRequest, form: forms.Form, refused: Refused, more: Mapping[str, Any]) -> HttpResponse:
        """The form with its errors; for our script the errors by field, those of the whole form under `__all__`."""
        if wants_json(request):
            return JsonResponse({"errors": form.errors}, status=refused.status, headers=dict(refused.headers))
        response = self.show(request, form, more, refused.status)
        for name, value in refused.headers.items():
            response.headers[name] = value
        return response


def begin(form: forms.Form, viewer: Viewer, verb: Callable[[], Started]) -> Started:
    """The result of the verb, for a valid form. Raises Refused."""
    if not form.is_valid():
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        throttling.count(throttling.by_account("publish", viewer.user_id, ""))
        return verb()
    except TooManyAttempts as refusal:
        form.add_error(None, sentence(refusal))
        raise Refused(HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": str(refusal.retry_after)}) from None
    except Conflict as refusal:
        form.add_error("version", sentence(refusal))
        raise Refused(HTTPStatus.CONFLICT) from None
    except Invalid as refusal:
        form.add_error(None, sentence(refusal))
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY) from None
    except TooLarge as refusal:  # the namespace has reached its quota
        form.add_error(None, sentence(refusal))
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE) from None


def started(request: HttpRequest, release: Release, document: Mapping[str, Any], *, status: int = 201) -> HttpResponse:
    """For our script the next URL and `document`; for browsers without scripts a redirect to the file form."""
    page = reverse("portal:release", args=[release.public_id])
    if wants_json(request):
        return JsonResponse({"release": page, **document}, status=status)
    return HttpResponseRedirect(page, status=HTTPStatus.SEE_OTHER)  # a reload does not post again
