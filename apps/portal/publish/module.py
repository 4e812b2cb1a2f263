"""/publish: the first step of a release in the browser. A small form reserves the version and returns a ticket (D2)."""

from typing import Any

from django import forms
from django.conf import settings
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.urls import path, reverse
from django.views.decorators.http import require_http_methods
from django.views.generic import RedirectView

from apps.accounts.access import gate, throttling
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.accounts.models import Role
from apps.lib.addresses import ModuleAddress, canonical, check_module_name, check_system
from apps.modules import checking, folder_names, publishing
from apps.modules.catalogue import reading
from apps.portal.publish import frame
from apps.portal.publish.frame import PageFrame, StartForm
from apps.releases.catalogue import search
from apps.releases.models import Kind, Release
from apps.snippets.module_snippets import next_version

PORTAL = PageFrame("portal/publish/page.html")
# Up to so many modules are a list; among more a person searches, and sees so many suggestions.
LISTED, SUGGESTED = 200, 20
SEARCH = "Type a part of its address, such as vpc. Leave it empty for a new module."


class PublishForm(StartForm):
    """Checks D10; `publishing.begin` decides."""

    chosen = "module"
    NEW_PARTS = ("namespace", "name", "system")
    HELP = {
        "name": "Letters and digits, with single - or _ between them: vpc, web_cluster. Clients are case-sensitive.",
        "system": "The target system, such as aws, kubernetes or local: lower-case letters and digits.",
        "folder": "Publishes this folder only, such as modules/vpc. Leave it empty for the whole archive.",
        "version": "Three numbers without a v: 1.2.0, or 2.0.0-rc.1 for a pre-release. Numbers cannot be reused.",
    }

    module = forms.ChoiceField()
    namespace = forms.ChoiceField(error_messages={"required": "A new module needs a namespace."})
    name = forms.CharField(max_length=64, error_messages={"required": "A new module needs a name."})
    system = forms.CharField(max_length=64, error_messages={"required": "A new module needs a system."})
    folder = forms.CharField(required=False, max_length=300, label="Folder inside the archive")
    multiple_modules = forms.BooleanField(
        required=False, label="This archive contains several modules: let me choose after the upload"
    )
    file_name = forms.CharField(required=False, max_length=255, widget=forms.HiddenInput)
    # The page's script asks about private keys before it zips a folder (templates/portal/publish/selection.html).
    keys = forms.CharField(required=False)

    field_order = ("module", *NEW_PARTS, "version")

    def __init__(self, viewer: Viewer, data: QueryDict | None = None, *, query: QueryDict | None = None) -> None:
        super().__init__(viewer, data)
        self._modules = reading.visible_modules(viewer).filter(namespace__in=self.offered)
        known = list(self._modules.select_related("namespace")[: LISTED + 1])
        self.is_searched = len(known) > LISTED
        known.sort(key=lambda module: (module.namespace.canonical, module.canonical))
        self.addresses = [str(module.address) for module in known]
        # Initial values from a link such as /publish?namespace=acme&name=vpc&system=aws.
        query = query or QueryDict()
        sent = {name: query.get(name, "")[:300] for name in (*self.NEW_PARTS, "version", "folder", "multiple_modules")}
        address = "/".join(sent[name] for name in self.NEW_PARTS)
        sent["module"] = self.initial_choice(sent, is_known=self._is_known(address))
        names = list(self.offered.order_by("name").values_list("name", flat=True))
        self.arrange(namespaces=names, initial=sent)
        if self.is_searched:
            field = forms.CharField(required=False, max_length=200, help_text=SEARCH)
            field.widget.attrs |= {"list": "known-modules", "autocomplete": "off", "spellcheck": "false"}
            self.fields["module"] = field
            self.suggested = suggestions(viewer, "")
        else:
            self.offer_addresses("module", sent["namespace"])
        self.fields["folder"].widget.attrs["list"] = "module-folders"

    def _is_known(self, address: str) -> bool:
        if not self.is_searched:
            return address in self.addresses
        namespace, _, path = address.partition("/")
        name, _, system = path.partition("/")
        return self._modules.filter(namespace__name=namespace, name=name, system=system).exists()

    @property
    def wants_a_folder(self) -> bool:
        """The fields for archives of several modules are shown open."""
        return any(self[name].value() or self[name].errors for name in ("folder", "multiple_modules"))

    def clean_module(self) -> str:
        address = str(self.cleaned_data["module"]).strip().strip("/")
        if self.is_new or self._is_known(address):
            return address
        near = suggestions(self.viewer, address)[:3]
        hint = f"Did you mean {', '.join(near)}?" if near else "Leave the field empty for a new module."
        raise forms.ValidationError(f"There is no module {address[:100]} that you can publish. {hint}")

    def clean_name(self) -> str:
        return self.checked_if_new("name", lambda name: check_module_name(name, reserved=settings.RESERVED_NAMES))

    def clean_system(self) -> str:
        return self.checked_if_new("system", check_system)

    def clean_folder(self) -> str:
        folder: str = self.checked("folder", folder_names.clean_folder)
        return folder

    @property
    def confirmed(self) -> list[str]:
        """Codes confirmed before the upload; of a valid form only."""
        return [checking.PRIVATE_KEY] if self.cleaned_data["keys"] == "send" else []

    @property
    def address(self) -> ModuleAddress:
        return ModuleAddress(*self.parts)


def suggestions(viewer: Viewer, words: str) -> list[str]:
    """Addresses of modules that the viewer may publish and that match the words; the newest without any."""
    offered = gate.namespaces_with_role(viewer, Role.PUBLISHER)
    sort = search.RELEVANCE if words.strip() else search.UPDATED
    docs = search.search(kind=Kind.MODULE, namespaces=offered, query=words[:200], sort=sort, include_unlisted=True)
    return [str(doc) for doc in docs.select_related("namespace")[:SUGGESTED]]


def matching(viewer: Viewer, name: str, system: str, version: str) -> dict[str, Any]:
    """The addresses that the viewer may publish and a file may be for; of a single one the version to propose.

    An unknown system is empty, and may be the end of the name: vpc-aws. The file's own version is proposed unless it is
    published already.
    """
    folded = canonical(name)
    names = Q(canonical=f"{folded}/{canonical(system)}") if system else Q(canonical__startswith=f"{folded}/")
    if not system:
        words = folded.split("-")
        splits = ["/".join(("-".join(words[:at]), "-".join(words[at:]))) for at in range(1, len(words))]
        names |= Q(canonical__in=splits)
    offered = gate.namespaces_with_role(viewer, Role.PUBLISHER)
    modules = reading.visible_modules(viewer).filter(names, namespace__in=offered).select_related("namespace")
    found = list(modules.alphabetical()[:SUGGESTED])
    document: dict[str, Any] = {"modules": [str(module) for module in found]}
    if len(found) == 1:
        published = list(found[0].versions.newest_first().values_list("release__version", flat=True))
        highest = published[0] if published else ""
        proposed = version if version and version not in published else next_version(highest) if highest else ""
        document |= {"highest": highest, "version": proposed}
    return document


@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, around: PageFrame = PORTAL) -> HttpResponse:
    viewer, shown = session_viewer(request), {"limits": frame.limits_of_modules()}
    if request.method != "POST" and (words := request.GET.get("suggest")) is not None:
        throttling.count(throttling.by_account("search", viewer.user_id, address_of(request)))
        return JsonResponse({"modules": suggestions(viewer, words)})
    if request.method != "POST" and (name := request.GET.get("match", "")[:200]):
        throttling.count(throttling.by_account("search", viewer.user_id, address_of(request)))
        return JsonResponse(
            matching(viewer, name, *(request.GET.get(part, "")[:200] for part in ("system", "version")))
        )
    if request.method != "POST":
        return around.show(request, PublishForm(viewer, query=request.GET), shown)
    form = PublishForm(viewer, request.POST)

    def reserve() -> tuple[Release, str]:
        chosen = {name: form.cleaned_data[name] for name in ("version", "file_name", "folder", "multiple_modules")}
        return publishing.reserve_release(viewer=viewer, address=form.address, confirm=form.confirmed, **chosen)

    try:
        release, ticket = frame.start_release(form, viewer, reserve)
    except frame.Refused as refused:
        return around.again(request, form, refused, shown)
    frame.remember_ticket(request, release, ticket)  # the release page shows the file form only in this browser
    return frame.started(request, release, {"upload": reverse("portal:upload", args=[ticket])})


urlpatterns = [
    path("publish", publish, name="publish"),
    path("publish/", RedirectView.as_view(pattern_name="portal:publish", query_string=True)),
]
