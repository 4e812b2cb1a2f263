"""The publish form: module and version, with errors beside their fields."""

from collections.abc import Callable
from typing import cast

from django import forms
from django.conf import settings
from django.http import QueryDict

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.accounts.namespaces import creation_refused
from apps.lib import versions
from apps.lib.addresses import ModuleAddress, check_module_name, check_system
from apps.lib.errors import Invalid, RegistryError
from apps.modules import checking
from apps.modules.catalogue import reading
from apps.releases.catalogue import search
from apps.releases.models import Kind

NEW = "new"  # cannot be an address: those have slashes
NEW_PARTS = ("namespace", "name", "system")
# Up to so many modules are a list; among more a person searches, and sees so many suggestions.
LISTED, SUGGESTED = 200, 20
SEARCH = "Type a part of its address, such as vpc. Leave it empty for a new module."
HELP = {
    "name": "Letters and digits, with single - or _ between them: vpc, web_cluster. Clients are case-sensitive.",
    "system": "What it is for, such as aws, kubernetes or local: lower-case letters and digits.",
    "folder": "Publishes this folder only, such as modules/vpc. Leave it empty for the whole archive.",
    "version": "Three numbers without a v: 1.2.0, or 2.0.0-rc.1 for a pre-release. No number is published twice.",
}


class PublishForm(forms.Form):
    """Checks D10 to attach errors to fields; `publishing.reserve_release` decides."""

    module = forms.ChoiceField()
    namespace = forms.ChoiceField(error_messages={"required": "A new module needs a namespace."})
    name = forms.CharField(max_length=64, error_messages={"required": "A new module needs a name."})
    system = forms.CharField(max_length=64, error_messages={"required": "A new module needs a system."})
    version = forms.CharField(
        max_length=128, error_messages={"required": "Give the version of this release, such as 1.0.0."}
    )
    folder = forms.CharField(required=False, max_length=300, label="Folder inside the archive")
    multiple_modules = forms.BooleanField(
        required=False, label="This archive contains several modules: let me choose after the upload"
    )
    file_name = forms.CharField(required=False, max_length=255, widget=forms.HiddenInput)
    # The page's script asks about private keys before it zips a folder (templates/portal/publish/selection.html).
    keys = forms.CharField(required=False)

    def __init__(self, viewer: Viewer, data: QueryDict | None = None, *, query: QueryDict | None = None) -> None:
        super().__init__(data)
        offered = gate.namespaces_with_role(viewer, Role.PUBLISHER)
        self._modules = reading.visible_modules(viewer).filter(namespace__in=offered)
        known = list(self._modules.select_related("namespace")[: LISTED + 1])
        self.is_searched = len(known) > LISTED
        known.sort(key=lambda module: (module.namespace.canonical, module.canonical))
        self.addresses = [str(module.address) for module in known]
        self.may_create = not creation_refused(viewer)
        self.namespaces = list(offered.order_by("name").values_list("name", flat=True))
        self.initial = self._initial(query or QueryDict())
        self.is_new = (data or self.initial).get("module", NEW) in (NEW, "")
        self.viewer = viewer
        self._require()
        if self.is_searched:
            self._search()
        else:
            self._offer("module", [(NEW, "A new module"), *((one, one) for one in self.addresses)])
        self._offer("namespace", [(one, one) for one in self.namespaces])
        for name, text in HELP.items():
            self.fields[name].help_text = text
            self.fields[name].widget.attrs |= {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        self.fields["folder"].widget.attrs["list"] = "module-folders"

    def _require(self) -> None:
        self.fields["module"].required = bool(self.addresses)
        for name in NEW_PARTS:
            self.fields[name].required = self.is_new

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = choices

    def _search(self) -> None:
        field = forms.CharField(required=False, max_length=200, help_text=SEARCH)
        field.widget.attrs |= {"list": "known-modules", "autocomplete": "off", "spellcheck": "false"}
        self.fields["module"] = field
        self.suggested = suggestions(self.viewer, "")

    def _is_known(self, address: str) -> bool:
        if not self.is_searched:
            return address in self.addresses
        namespace, _, path = address.partition("/")
        name, _, system = path.partition("/")
        return self._modules.filter(namespace__name=namespace, name=name, system=system).exists()

    def _initial(self, query: QueryDict) -> dict[str, str]:
        """Initial values from a link such as /publish?namespace=acme&name=vpc&system=aws."""
        sent = {name: query.get(name, "")[:300] for name in (*NEW_PARTS, "version", "folder", "multiple_modules")}
        address = "/".join([sent["namespace"], sent["name"], sent["system"]])
        return {**sent, "module": address if self._is_known(address) else "" if self.is_searched else NEW}

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
        raise forms.ValidationError(f"There is no module {address[:100]} that you may publish. {hint}")

    def clean_version(self) -> str:
        try:
            return versions.parse(self.cleaned_data["version"].strip()).text
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None

    def clean_name(self) -> str:
        return self._checked("name", lambda name: check_module_name(name, reserved=settings.RESERVED_NAMES))

    def clean_system(self) -> str:
        return self._checked("system", check_system)

    def clean_folder(self) -> str:
        try:
            return checking.clean_folder(self.cleaned_data["folder"])
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None

    def _checked(self, field: str, rule: Callable[[str], object]) -> str:
        text = str(self.cleaned_data[field])
        try:
            if self.is_new:
                rule(text)
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None
        return text

    @property
    def confirmed(self) -> list[str]:
        """Codes confirmed before the upload; of a valid form only."""
        return [checking.PRIVATE_KEY] if self.cleaned_data["keys"] == "send" else []

    @property
    def address(self) -> ModuleAddress:
        """The chosen or new module; of a valid form only."""
        cleaned = self.cleaned_data
        parts = [cleaned[name] for name in NEW_PARTS] if self.is_new else cleaned["module"].split("/")
        return ModuleAddress(*parts)


def suggestions(viewer: Viewer, words: str) -> list[str]:
    """Addresses of modules that the viewer may publish and that match the words; the newest without any."""
    offered = gate.namespaces_with_role(viewer, Role.PUBLISHER)
    sort = search.RELEVANCE if words.strip() else search.UPDATED
    docs = search.search(kind=Kind.MODULE, namespaces=offered, query=words[:200], sort=sort, include_unlisted=True)
    return [str(doc) for doc in docs.select_related("namespace")[:SUGGESTED]]


def sentence(refusal: RegistryError) -> str:
    """The error and its hint, as sentences for a page."""
    texts = [text for text in (str(refusal), refusal.hint) if text]
    return " ".join(_capitalised(text) + ("" if text[-1] in ".?!)" else ".") for text in texts)


def _capitalised(text: str) -> str:
    """Capitalised, except an address: another letter case would be another name."""
    return text if "/" in text.split(maxsplit=1)[0] else text[0].upper() + text[1:]
