"""The form that opens a provider draft: provider, version, and protocols for builds without a manifest."""

from typing import cast

from django import forms
from django.conf import settings
from django.http import QueryDict

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.access.operators import creation_refused
from apps.accounts.models import Role
from apps.lib import versions
from apps.lib.addresses import ProviderAddress, check_provider_type
from apps.lib.errors import Invalid
from apps.portal.publish.form import NEW, sentence
from apps.providers import reading
from apps.providers.drafting import drafts, protocols

NEW_PARTS = ("namespace", "type")
HELP = {
    "type": "The prefix of its resources: dns, cloud-init. Lower-case letters, digits, single - between them.",
    "version": "As in the names of the files, without a v: 1.2.0, or 2.0.0-rc.1 for a pre-release.",
    "protocols": "SDKv2 speaks 5.0, the plugin framework 6.0, unless its main.go says otherwise.",
}
_PLAIN = {"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}


class ProtocolsField(forms.MultipleChoiceField):
    """The usual ones as boxes; `protocols.cleaned` decides, and accepts a manifest's 5.1 too."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self) -> None:
        usual = [f"{major}.0" for major in protocols.SPOKEN]
        super().__init__(
            required=False,
            label="Plugin protocols",
            help_text=HELP["protocols"],
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


class ProviderForm(forms.Form):
    """Checks names and versions to attach errors to fields; `publishing.open_draft` decides."""

    provider = forms.ChoiceField()
    namespace = forms.ChoiceField(error_messages={"required": "A new provider needs a namespace."})
    type = forms.CharField(max_length=63, error_messages={"required": "A new provider needs a type."})
    version = forms.CharField(
        max_length=128, error_messages={"required": "Give the version of this release, such as 1.0.0."}
    )
    protocols = ProtocolsField()

    def __init__(self, viewer: Viewer, data: QueryDict | None = None, *, query: QueryDict | None = None) -> None:
        super().__init__(data)
        offered = gate.namespaces_with_role(viewer, Role.PUBLISHER)
        rows = reading.visible_providers(viewer).filter(namespace__in=offered).select_related("namespace")
        self.addresses = [str(row.address) for row in rows.order_by("namespace__name", "type", "pk")]
        self.signers = drafts.signers(offered)
        self.may_create = not creation_refused(viewer)
        self.namespaces = list(self.signers)
        self.initial = self._initial(query or QueryDict())
        self.is_new = (data or self.initial).get("provider", NEW) in (NEW, "")
        self.fields["provider"].required = bool(self.addresses)
        for name in NEW_PARTS:
            self.fields[name].required = self.is_new
        self._offer("provider", [(NEW, "A new provider"), *((one, one) for one in self.addresses)])
        self._offer("namespace", [(one, one) for one in self.namespaces])
        for name in ("type", "version"):
            self.fields[name].help_text = HELP[name]
            self.fields[name].widget.attrs |= _PLAIN

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        cast("forms.ChoiceField", self.fields[name]).choices = choices

    def _initial(self, query: QueryDict) -> dict[str, str]:
        """Initial values from a link such as /publish/provider?namespace=acme&type=dns."""
        sent = {name: query.get(name, "")[:128] for name in (*NEW_PARTS, "version")}
        address = f"{sent['namespace']}/{sent['type']}"
        return {**sent, "provider": address if address in self.addresses else NEW}

    def clean_version(self) -> str:
        try:
            return versions.parse(self.cleaned_data["version"].strip()).text
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None

    def clean_type(self) -> str:
        text = str(self.cleaned_data["type"])
        try:
            if self.is_new:
                check_provider_type(text, reserved=settings.RESERVED_NAMES)
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None
        return text

    @property
    def address(self) -> ProviderAddress:
        """The chosen or new provider; of a valid form only."""
        cleaned = self.cleaned_data
        parts = [cleaned[name] for name in NEW_PARTS] if self.is_new else cleaned["provider"].split("/")
        return ProviderAddress(*parts)
