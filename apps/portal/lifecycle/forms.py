"""The fields of each action on a version."""

from collections.abc import Mapping

from django import forms

from apps.portal.frame.forms import PLAIN
from apps.releases.lifecycle.verbs import MAX_REASON_CHARACTERS, MAX_REPLACEMENT_CHARACTERS
from apps.releases.models import Release


class ReasonForm(forms.Form):
    reason = forms.CharField(
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="One or two sentences, shown to everyone who sees the version.",
    )


class QuarantineForm(ReasonForm):
    reason = forms.CharField(
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Shown to staff on the version's page.",
    )


class RestoreForm(ReasonForm):
    reason = forms.CharField(
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Recorded in the audit log.",
    )


class DeprecateForm(ReasonForm):
    replacement = forms.CharField(
        max_length=MAX_REPLACEMENT_CHARACTERS,
        required=False,
        label="What to use instead",
        help_text="A version (1.3.0), another address with or without a version, or a few words.",
    )


class PurgeForm(ReasonForm):
    confirm = forms.CharField(max_length=300, label="Type the address and the version")
    reason = forms.CharField(
        max_length=MAX_REASON_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Shown permanently on the list of versions, in place of the version.",
    )
    field_order = ("reason", "confirm")

    def __init__(self, release: Release, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data, auto_id="purge_%s")
        self.fields["confirm"].help_text = f"Exactly: {release}"
        self.fields["confirm"].widget.attrs |= PLAIN


FORMS: dict[str, type[forms.Form]] = {
    "deprecate": DeprecateForm,
    "yank": ReasonForm,
    "quarantine": QuarantineForm,
    "restore": RestoreForm,
    "verify": forms.Form,
    "resign": forms.Form,
}
