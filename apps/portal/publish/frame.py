"""Shared by both publish pages: a small form starts a release and shows its errors; limits, and upload tickets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar, cast

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from apps.accounts.access import gate, throttling
from apps.accounts.access.gate import Viewer
from apps.accounts.access.operators import creation_refused
from apps.accounts.models import Role
from apps.lib import versions
from apps.lib.errors import Conflict, Invalid, RegistryError, TooLarge, TooManyAttempts
from apps.lib.packages import sandboxed
from apps.modules import checking
from apps.portal.frame.asking import Asking, asking_of, readable_by
from apps.portal.frame.forms import PLAIN, sentence
from apps.portal.frame.negotiation import wants_json
from apps.portal.frame.page_urls import see_other
from apps.providers.drafting import drafts
from apps.releases.models import Release
from apps.releases.publishing import drafting, reserving

NEW = "new"  # cannot be an address: those have slashes
MAX_TICKETS = 8
_KEY = "upload-tickets"
Started = TypeVar("Started")


class StartForm(forms.Form):
    """Chooses a module or provider, or names a new one, and its version. Attaches errors to fields; the verb decides.

    `chosen` is the field with the addresses that exist, NEW_PARTS are those of a new address, and HELP is by field.
    """

    chosen: ClassVar[str]
    NEW_PARTS: ClassVar[tuple[str, ...]]
    HELP: ClassVar[Mapping[str, str]]
    addresses: list[str]
    is_searched = False  # an empty `chosen` means a new address

    version = forms.CharField(
        max_length=128, error_messages={"required": "Give the version of this release, such as 1.0.0."}
    )

    def __init__(self, viewer: Viewer, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self.viewer = viewer
        self.offered = gate.namespaces_with_role(viewer, Role.PUBLISHER)
        self.may_create = not creation_refused(viewer)

    @property
    def asking(self) -> list[Asking]:
        """For people who cannot publish anywhere."""
        user = self.viewer.user
        return asking_of(user, readable_by(user)) if user else []

    def arrange(self, *, namespaces: list[str], initial: dict[str, str]) -> None:
        self.namespaces, self.initial = namespaces, initial
        chosen = (self.data or initial).get(self.chosen, "")
        self.is_new = chosen == NEW or not self.addresses or (self.is_searched and not chosen)
        self.fields[self.chosen].required = bool(self.addresses)
        for name in self.NEW_PARTS:
            self.fields[name].required = self.is_new or not self.is_bound  # an empty form may become a new one's
        # Of several namespaces none is chosen for the publisher, who would overlook it: a name is for good.
        blank = [("", "Choose a namespace")] if len(namespaces) > 1 else []
        self.offer("namespace", [*blank, *((one, one) for one in namespaces)])
        for name, text in self.HELP.items():
            self.fields[name].help_text = text
            self.fields[name].widget.attrs |= PLAIN

    def offer_addresses(self, kind: str, namespace: str) -> None:
        """Nothing is chosen beforehand: an address is permanent, and a new one by mistake is the usual accident.

        Those of the namespace that a link to this form names are first.
        """
        self.addresses.sort(key=lambda address: address.partition("/")[0] != namespace)
        first = [("", f"Choose a {kind}"), (NEW, f"A new {kind}")] if self.addresses else [(NEW, f"A new {kind}")]
        self.offer(self.chosen, [*first, *((one, one) for one in self.addresses)])
        self.fields[self.chosen].error_messages["required"] = f"Choose the {kind}, or “A new {kind}”."

    def initial_choice(self, sent: Mapping[str, str], *, is_known: bool) -> str:
        """The address of a link to this form; a new one if the link gives all its parts, or an empty namespace."""
        parts, here = [sent[name] for name in self.NEW_PARTS], f"{sent['namespace']}/"
        if is_known:
            return "/".join(parts)
        is_first = here != "/" and not any(address.startswith(here) for address in self.addresses)
        return NEW if (all(parts) or is_first) and not self.is_searched else ""

    def offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = choices

    def clean_version(self) -> str:
        text: str = self.checked("version", lambda text: versions.parse(text.strip()).text)
        return text

    def checked(self, name: str, rule: Callable[[str], Any]) -> Any:
        """Return the field's value as the rule cleans it. Raises ValidationError with its refusal."""
        try:
            return rule(str(self.cleaned_data[name]))
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None

    def checked_if_new(self, name: str, rule: Callable[[str], Any]) -> str:
        if self.is_new:
            self.checked(name, rule)
        return str(self.cleaned_data[name])

    @property
    def parts(self) -> list[str]:
        """Of the chosen or new address; of a valid form only."""
        cleaned = self.cleaned_data
        return [cleaned[name] for name in self.NEW_PARTS] if self.is_new else cleaned[self.chosen].split("/")


def owned_by(viewer: Viewer) -> set[str]:
    """The namespaces whose keys the viewer may change, for portal/publish/provider_plan.html."""
    return set(gate.namespaces_with_role(viewer, Role.OWNER).values_list("name", flat=True))


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
        context = {"form": form, "within": request.GET.get("namespace", ""), **self.context, **more}
        return render(request, self.template, context, status=status)

    def again(self, request: HttpRequest, form: forms.Form, refused: Refused, more: Mapping[str, Any]) -> HttpResponse:
        """The form with its errors; for our script the errors by field, those of the whole form under `__all__`."""
        if wants_json(request):
            return JsonResponse({"errors": form.errors}, status=refused.status, headers=dict(refused.headers))
        response = self.show(request, form, more, refused.status)
        for name, value in refused.headers.items():
            response.headers[name] = value
        return response


def start_release(form: forms.Form, viewer: Viewer, verb: Callable[[], Started]) -> Started:
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
    return see_other("release", release.public_id)


# --- Upload limits for our scripts, which refuse before they read or send a byte (D23) ---


def limits_of_modules() -> dict[str, int | str]:
    """For portal/publish/limits.html: each number with the setting named beside it."""
    limits = checking.limits()
    return {
        "max_bytes": limits.packed_bytes,
        "limit_setting": limits.packed_setting,
        "max_unpacked": limits.unpacked_bytes,
        "unpacked_setting": limits.unpacked_setting,
        "max_entries": limits.entries,
        "entries_setting": limits.entries_setting,
    }


def limits_of_providers() -> dict[str, int | str]:
    """For portal/publish/provider_limits.html: limits of one file, and the platform names that clients know."""
    package, package_setting = drafts.limit_of("package")
    small, small_setting = drafts.limit_of("sums")
    docs, docs_setting = drafts.limit_of("docs")
    return {
        "docs": docs,
        "docs_setting": docs_setting,
        "package": package,
        "package_setting": package_setting,
        "small": small,
        "small_setting": small_setting,
        "files": drafting.MAX_FILES,
        "systems": " ".join(sandboxed.SYSTEMS),
        "architectures": " ".join(sandboxed.ARCHITECTURES),
    }


# --- Upload tickets in this browser's session, so that a reload or a second tab shows the file form again (D2). A
# --- ticket is for one upload of one reserved release and lapses within an hour; the session keeps the newest few ---


def remember_ticket(request: HttpRequest, release: Release, ticket: str) -> None:
    tickets = dict(request.session.get(_KEY, {}))
    tickets[str(release.public_id)] = ticket
    request.session[_KEY] = dict(list(tickets.items())[-MAX_TICKETS:])


def ticket_for(request: HttpRequest, release: Release) -> str:
    """The unused ticket of this browser for the release, or ""."""
    ticket = str(request.session.get(_KEY, {}).get(str(release.public_id), ""))
    if not ticket:
        return ""
    try:
        owner = reserving.release_of_ticket(ticket)
    except RegistryError:
        return ""
    return ticket if owner.pk == release.pk else ""
