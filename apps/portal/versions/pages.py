"""The pages of one version, for both kinds: address, state, switcher and tabs around the contents of a tab.

Each kind subclasses `VersionPages`, and its templates extend templates/portal/version/base.html.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Role, Visibility
from apps.blobs.care.integrity import known
from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid, NotFound
from apps.modules.dependents import users
from apps.modules.dependents.users import Use
from apps.portal.frame.forms import form_page, posted, refusals_on, sentence
from apps.portal.frame.page_urls import Address, url_of
from apps.portal.versions import tabs
from apps.portal.versions.effects import tombstone_of
from apps.portal.versions.switcher import Switcher, UrlOf
from apps.releases.catalogue import marks
from apps.releases.catalogue.comparing import Comparison
from apps.releases.catalogue.describing import MAX_CHARACTERS, checked_url
from apps.releases.lifecycle import tombstones
from apps.releases.lifecycle.actions import VersionActions
from apps.releases.models import Kind, Lifecycle, Release
from apps.snippets import client_setup, module_snippets


@dataclass(frozen=True, slots=True)
class Opened:
    """A version that the gate lets the viewer see. `role` is None without an account, which reads no names."""

    viewer: Viewer
    role: Role | None
    shown: Any


# What a tab shows: adds to the context that its frame has.
Contents = Callable[[HttpRequest, Opened, dict[str, Any]], None]


class VersionPages(ABC):
    kind: Kind
    address_type: type[Address]
    path: str  # of a module or provider, as a pattern
    publish_route: str
    actions: VersionActions[Any]
    settings_form: type[forms.Form]
    switcher: Switcher
    # More columns in the list of versions.
    columns: Mapping[str, Any]

    @abstractmethod
    def parent_and_role(self, viewer: Viewer, address: Any, *, need: Role = Role.READER) -> tuple[Any, Role]:
        """The module or provider. Raises as the gate does."""

    @abstractmethod
    def version_of(self, viewer: Viewer, parent: Any, version: str) -> Any:
        """The version with that number; one in quarantine for staff. Raises NotFound."""

    @abstractmethod
    def default_of(self, viewer: Viewer, parent: Any) -> Any | None:
        """The version that its own page shows: the highest stable listed one. None if all are removed."""

    @abstractmethod
    def files_of(self, shown: Any) -> list[tuple[str, str]]:
        """(name, digest) of all that is downloaded."""

    @abstractmethod
    def details_of(self, shown: Any) -> dict[str, Any]:
        """`lead` of the frame, `counts` of the kind's own tabs (`tabs.shown`), and its own context."""

    @abstractmethod
    def compare(self, viewer: Viewer, address: Any, numbers: str) -> Comparison:
        """`numbers` is `1.0.0...1.1.0`. Raises as the gate does."""

    @abstractmethod
    def describe(self, parent: Any, *, actor: Viewer, **fields: str) -> None:
        """Change the `fields` of the settings form. Raises Invalid."""

    def beside_versions(self, parent: Any) -> dict[str, Any]:  # noqa: ARG002
        """More context for the list of versions."""
        return {}

    def publish_command(self, address: Any, highest: str) -> str:  # noqa: ARG002
        """One command that publishes the version after the highest one; empty if one is not enough."""
        return ""

    def open(self, request: HttpRequest, version: str, names: Mapping[str, str]) -> Opened:
        viewer = session_viewer(request)
        parent, role = self.parent_and_role(viewer, self.address_type(**names))
        return Opened(viewer, role if viewer.is_identified else None, self.version_of(viewer, parent, version))

    def frame(self, opened: Opened, tab: str, url_in: UrlOf | None = None) -> dict[str, Any]:
        """The context of templates/portal/version/base.html. `url_in` is the same page of another version."""
        shown, release, role = opened.shown, opened.shown.release, opened.role
        parent = getattr(shown, self.kind)
        address = parent.address
        context = {"address": address, "parent": parent, "shown": shown, "release": release, "role": role, "tab": tab}
        context |= {"namespace": parent.namespace, "kind": self.kind}
        said = marks.of([release.pk])[release.pk]
        context["marks"] = said if release.quarantined_at is None else []
        # Owners and staff are told of stored bytes that a check or a download found missing or damaged.
        files = self.files_of(shown) if role == Role.OWNER else []
        context["damage"] = [(name, problem) for name, digest in files if (problem := known.problem_of(digest))]
        context |= self.switcher.context_of(shown, url_in or (lambda number: url_of(address, tab, number)))
        context["repository"] = repository(parent.source_url)
        # No block to copy for versions that should not be used.
        context["is_folded"] = release.lifecycle == Lifecycle.YANKED or release.quarantined_at is not None
        context["needs_credentials"] = parent.namespace.visibility != Visibility.PUBLIC
        context["credentials"] = module_snippets.credentials_block()
        context["login"] = None if client_setup.is_plain_http() else client_setup.login()
        context |= self.publishing(address, role)
        if release.quarantined_at is not None and role is not None:
            context |= tombstone_of(opened.viewer, release, role)
        if role is not None and role.covers(Role.OWNER):
            context |= owner_links(release, address)
        details = self.details_of(shown)
        counts = {"origin": None, "versions": context["version_count"], "users": None}
        counts |= tabs.counts_of_rooms(opened, said)
        context["tabs"] = tabs.shown(self.kind, address, release.version, counts | details.pop("counts"), tab)
        return context | details

    def frame_of_all(self, viewer: Viewer, parent: Any, role: Role, tab: str, number: str = "") -> dict[str, Any]:
        """The frame around a page about all versions: that of version `number`, by default of the default one.

        Only the address and one tab where no version can be read.
        """
        shown = self.version_of(viewer, parent, number) if number else self.default_of(viewer, parent)
        known, address = role if viewer.is_identified else None, parent.address
        if shown is not None:
            return self.frame(Opened(viewer, known, shown), tab, lambda other: url_of(address, "version", other))
        context = {"address": address, "parent": parent, "namespace": parent.namespace, "role": known, "tab": tab}
        context |= {"kind": self.kind, "lead": parent.description, **self.publishing(address, known)}
        return {**context, "tabs": tabs.shown(self.kind, address, "", {"versions": None}, tab)}

    def publishing(self, address: Address, role: Role | None) -> dict[str, str]:
        """The page on which the next version is published, for those who may."""
        if role is None or not role.covers(Role.PUBLISHER):
            return {}
        return {"publish_url": f"{reverse(self.publish_route)}?{urlencode(asdict(address))}"}


def owner_links(release: Release, address: Address) -> dict[str, str]:
    """For the banner of templates/portal/lifecycle: who uses such versions, and a message to them."""
    notify = f"{url_of(address, 'notify')}?{urlencode({'version': release.version})}"
    return {"outdated_url": url_of(address, "outdated"), "notify_url": notify}


def repository(url: str) -> dict[str, str] | None:
    """A link to the repository, labelled host/path; only for web URLs."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    return {"url": url, "label": f"{parts.hostname}{parts.path}".rstrip("/").removesuffix(".git")}


def refusing(opened: Opened) -> list[Use]:
    """Modules of this registry whose constraint excludes the version: one query, of those that the viewer sees."""
    release = opened.shown.release
    address = getattr(opened.shown, release.kind).address
    if isinstance(address, ModuleAddress) and not users.is_called(address):
        return []
    uses = users.of(opened.viewer, address)
    return users.refusing(uses, versions.parse(release.version))


@login_not_required
@require_safe
def default_version(request: HttpRequest, *, pages: VersionPages, contents: Contents, **names: str) -> HttpResponse:
    viewer, address = session_viewer(request), pages.address_type(**names)
    parent, role = pages.parent_and_role(viewer, address)
    shown = pages.default_of(viewer, parent)
    if shown is None:  # the list of versions says why
        return HttpResponseRedirect(url_of(address, "versions"))
    opened = Opened(viewer, role if viewer.is_identified else None, shown)
    return _tab(request, pages, opened, "version", contents)


@login_not_required
@require_safe
def version_tab(
    request: HttpRequest, *, pages: VersionPages, tab: str, contents: Contents, version: str, **names: str
) -> HttpResponse:
    try:
        opened = pages.open(request, version, names)
    except NotFound:
        viewer, address = session_viewer(request), pages.address_type(**names)
        parent, role = pages.parent_and_role(viewer, address)
        stone = tombstones.quarantined(viewer, role, pages.actions.coordinate_of(address, version))
        if stone is None or tab != "version":
            raise
        context = {"address": address, "parent": parent, "namespace": parent.namespace, "release": stone, "role": role}
        context |= tombstone_of(viewer, stone, role) | pages.publishing(address, role)
        return render(request, "portal/version/tombstone.html", context)
    return _tab(request, pages, opened, tab, contents)


def _tab(request: HttpRequest, pages: VersionPages, opened: Opened, tab: str, contents: Contents) -> HttpResponse:
    context = pages.frame(opened, tab)
    contents(request, opened, context)
    if of_room := tabs.of_room(tab):
        return render(request, "portal/version/room_tab.html", {**context, "of_room": of_room})
    return render(request, f"portal/{pages.kind}/{tab}.html", context)


class DescriptionForm(forms.Form):
    description = forms.CharField(
        max_length=MAX_CHARACTERS,
        required=False,
        help_text="One line, shown in lists and search. If empty, the first words of the README.",
    )
    source_url = forms.CharField(
        max_length=MAX_CHARACTERS,
        required=False,
        label="Repository",
        help_text="The repository, for example https://git.example.com/team/code. Update bots read the changelog "
        "there.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def clean_source_url(self) -> str:
        try:
            return checked_url(self.cleaned_data["source_url"])
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None


@require_http_methods(["GET", "HEAD", "POST"])
def version_settings(request: HttpRequest, *, pages: VersionPages, **names: str) -> HttpResponse:
    viewer, address = session_viewer(request), pages.address_type(**names)
    row, _ = pages.parent_and_role(viewer, address, need=Role.PUBLISHER)
    form_class = pages.settings_form
    form = form_class(posted(request), initial={field: getattr(row, field) for field in form_class.base_fields})
    if form.is_valid():
        with refusals_on(form, "description"):
            pages.describe(row, actor=viewer, **form.cleaned_data)
            messages.success(request, f"Description of {address} saved.")
            return HttpResponseRedirect(url_of(address), status=303)
    return form_page(request, "portal/settings.html", form, address=address)
