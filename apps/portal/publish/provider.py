"""/publish/provider: open the draft of a provider version; provider_draft.py adds its files."""

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import path
from django.views.decorators.http import require_http_methods

from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.lib.addresses import ProviderAddress, check_provider_type
from apps.lib.errors import Conflict, Invalid
from apps.portal.frame.forms import sentence
from apps.portal.publish import frame
from apps.portal.publish.frame import PageFrame, StartForm, owned_by
from apps.providers import publishing, reading
from apps.providers.drafting import drafts, protocols
from apps.providers.drafting.drafts import file_document
from apps.releases.models import Release, State

PORTAL = PageFrame("portal/publish/provider_page.html")
# Open drafts on the page.
DRAFTS = 10
# Providers to choose from, of the namespace that a link names and of all: the address of any other can be typed.
OFFERED = 500


class ProtocolsField(forms.MultipleChoiceField):
    """The usual ones as boxes; `protocols.cleaned` decides, and accepts a manifest's 5.1 too."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self) -> None:
        usual = [f"{major}.0" for major in protocols.SPOKEN]
        super().__init__(
            required=False,
            label="Plugin protocols",
            help_text="SDKv2 uses 5.0 and the plugin framework 6.0, unless main.go sets another.",
            choices=[(one, one) for one in usual],
        )

    def valid_value(self, value: str) -> bool:  # noqa: ARG002  # clean() asks the rule
        return True

    def clean(self, value: list[str]) -> list[str]:
        try:
            return protocols.cleaned(super().clean(value))
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None


class ProtocolsForm(forms.Form):
    """Asked on submitting a draft without a manifest."""

    protocols = ProtocolsField()


class ProviderForm(StartForm):
    """Checks names and versions; `publishing.open_draft` decides."""

    chosen = "provider"
    NEW_PARTS = ("namespace", "type")
    HELP = {
        "type": "The prefix of its resources: dns, cloud-init. Lower-case letters, digits, single - between them.",
        "version": "As in the file names, without a v: 1.2.0, or 2.0.0-rc.1 for a pre-release.",
    }
    provider = forms.ChoiceField()
    namespace = forms.ChoiceField(error_messages={"required": "A new provider needs a namespace."})
    type = forms.CharField(max_length=63, error_messages={"required": "A new provider needs a type."})
    protocols = ProtocolsField()
    field_order = ("provider", *NEW_PARTS, "version")

    def __init__(self, viewer: Viewer, data: QueryDict | None = None, *, query: QueryDict | None = None) -> None:
        super().__init__(viewer, data)
        rows = reading.visible_providers(viewer).filter(namespace__in=self.offered).select_related("namespace")
        rows = rows.order_by("namespace__name", "type", "pk")
        self.signers, self.owned = drafts.signers(self.offered), owned_by(viewer)
        # Initial values from a link such as /publish/provider?namespace=acme&type=dns.
        query = query or QueryDict()
        sent = {name: query.get(name, "")[:128] for name in (*self.NEW_PARTS, "version")}
        address = "/".join(sent[name] for name in self.NEW_PARTS)
        namespace = sent["namespace"] or str(data.get("provider", "") if data else "").partition("/")[0]
        first = rows.filter(namespace__name=namespace)[:OFFERED] if namespace in self.signers else ()
        offered = [*first, *rows[:OFFERED]]
        self.addresses = list(dict.fromkeys(str(row.address) for row in offered))
        self.offer_addresses("provider", sent["namespace"])
        initial = sent | {"provider": self.initial_choice(sent, is_known=address in self.addresses)}
        self.arrange(namespaces=list(self.signers), initial=initial)

    def clean_type(self) -> str:
        return self.checked_if_new("type", lambda text: check_provider_type(text, reserved=settings.RESERVED_NAMES))

    @property
    def address(self) -> ProviderAddress:
        return ProviderAddress(*self.parts)


@require_http_methods(["GET", "HEAD", "POST"])
def provider_publish(request: HttpRequest, around: PageFrame = PORTAL) -> HttpResponse:
    viewer = session_viewer(request)
    own = reading.open_drafts(viewer).filter(created_by=viewer.user)[:DRAFTS]
    shown = {"limits": frame.limits_of_providers(), "drafts": own}
    if request.method != "POST":
        return around.show(request, ProviderForm(viewer, query=request.GET), shown)
    form = ProviderForm(viewer, request.POST)

    def open_draft() -> tuple[Release, bool]:
        version, protocols = form.cleaned_data["version"], form.cleaned_data["protocols"]
        found, is_new = publishing.open_draft(viewer=viewer, address=form.address, version=version, protocols=protocols)
        if found.state == State.PUBLISHED:
            raise Conflict(f"{found} is published and cannot change", hint="Publish under another number.")
        return found, is_new

    try:
        release, is_new = frame.start_release(form, viewer, open_draft)
    except frame.Refused as refused:
        return around.again(request, form, refused, shown)
    # For our script: the files that are present already.
    files = [file_document(file) for file in release.files.order_by("name")]
    return frame.started(request, release, {"state": release.state, "files": files}, status=201 if is_new else 200)


urlpatterns = [path("publish/provider", provider_publish, name="provider-publish")]
