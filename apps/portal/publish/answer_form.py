"""The answers to a held release's questions, and further modules from the same upload."""

import re
from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict

from apps.lib import versions
from apps.lib.addresses import ModuleAddress, check_module_name, check_system
from apps.lib.errors import Invalid, Reason
from apps.modules import checking, folder_names
from apps.modules.answers import Part
from apps.modules.comparing import guard
from apps.modules.inspection.loading import UNLOADABLE
from apps.portal.frame.forms import PLAIN, sentence
from apps.releases.models import Release, State

TOP = "."  # a choice must not be empty; clean_folder accepts this
WHOLE = "The whole archive: a module without a root, used by its folders (//…)"
ROOT = "The whole archive: the root of the archive is the module"
OPEN = "Confirm it, or cancel the release."
YES = {
    checking.STATE_FILE: "Leave it out and publish the rest",
    checking.PRIVATE_KEY: "They are intentional: publish them",
    UNLOADABLE: "Publish it anyway; clients will fail",
}
# Of terraform-<system>-<name>, the usual repository name, take the name.
_REPOSITORY = re.compile(r"^(?:terraform|opentofu|tofu)-[a-z0-9]+-(?=[a-z0-9])")


class AnswerForm(forms.Form):
    """One field for each question; `parts` are the folders that may become further modules."""

    def __init__(self, release: Release, data: QueryDict | None = None) -> None:
        super().__init__(data)
        self.release = release
        self.open_questions = (
            [Reason.from_dict(one) for one in release.questions] if release.state == State.HELD else []
        )
        folders: list[str] = release.notes.get("folders", []) if self.needs_folder else []
        for question in self.open_questions:
            if question.code in YES:
                errors = {"required": OPEN}
                self.fields[question.code] = forms.BooleanField(label=YES[question.code], error_messages=errors)
        if any(question.code == guard.BREAKING_CHANGE for question in self.open_questions):
            self.fields["reason"] = forms.CharField(
                label="Reason for this version number",
                help_text="One or two sentences, shown to everyone who reads the module.",
                max_length=guard.MAX_REASON_CHARACTERS,
                widget=forms.Textarea({"rows": 3}),
                error_messages={"required": "Give the reason, or cancel the release."},
            )
        if self.needs_folder:
            whole = ROOT if "" in folders else WHOLE if release.notes.get("no_root") else ""
            self.fields["folder"] = forms.MultipleChoiceField(
                label=f"The folders of {release}",
                choices=[*([(TOP, whole)] if whole else []), *((folder, folder) for folder in folders if folder)],
                widget=forms.CheckboxSelectMultiple,
                error_messages={"required": "Choose at least one folder for this release."},
            )
        self.parts = [PartForm(release, folder, f"part-{at}", data) for at, folder in enumerate(folders)]

    @property
    def needs_folder(self) -> bool:
        return any(question.code == checking.CHOOSE_FOLDER for question in self.open_questions)

    @property
    def questions(self) -> list[tuple[Reason, forms.BoundField | None]]:
        """Each question with its field; None for one that this page cannot answer."""
        names = {checking.CHOOSE_FOLDER: "folder", guard.BREAKING_CHANGE: "reason"}
        fields = [names.get(question.code, question.code) for question in self.open_questions]
        return [
            (question, self[name] if name in self.fields else None)
            for question, name in zip(self.open_questions, fields, strict=True)
        ]

    @property
    def has_parts(self) -> bool:
        """A further module is ticked, or has an error: the list is open then."""
        return any(part["chosen"].value() or part.errors for part in self.parts)

    def clean_folder(self) -> str:
        """Return the folders in the form that `answers` takes. All of it includes the others, and so does a folder
        those in it.
        """
        chosen: list[str] = self.cleaned_data["folder"]
        if TOP in chosen:
            return TOP
        try:
            return folder_names.clean_folders(folder_names.outermost(chosen))
        except Invalid as refusal:
            raise forms.ValidationError(sentence(refusal)) from None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        own = cleaned.get("folder", "").split("\n")
        for part in self.parts:
            if part.is_valid() and part.cleaned_data["chosen"] and (part.folder or TOP) in own:
                part.add_error("chosen", f"{part.folder or 'The root'} is already in {self.release}.")
            for errors in part.errors.values():
                for error in errors:
                    self.add_error(None, f"{part.folder or 'The root of the archive'}: {error}")
        return cleaned

    @property
    def confirmed(self) -> list[str]:
        given = [guard.BREAKING_CHANGE] if self.reason else []
        return [*given, *(code for code in YES if self.cleaned_data.get(code))]

    @property
    def reason(self) -> str:
        return str(self.cleaned_data.get("reason", ""))

    @property
    def more(self) -> list[Part]:
        return [part.part() for part in self.parts if part.cleaned_data["chosen"]]


class PartForm(forms.Form):
    """A folder of the upload that may become a further module; its fields count only if it is ticked."""

    chosen = forms.BooleanField(required=False)
    name = forms.CharField(required=False, max_length=64)
    system = forms.CharField(required=False, max_length=64)
    version = forms.CharField(required=False, max_length=128)

    def __init__(self, release: Release, folder: str, prefix: str, data: QueryDict | None) -> None:
        _, _, system = release.name.partition("/")
        initial = {"name": name_of(folder), "system": system, "version": release.version}
        super().__init__(data, prefix=prefix, initial=initial)
        self.namespace = release.namespace.name
        self.folder = folder
        self.fields["chosen"].label = folder or "The root of the archive"
        for name in initial:
            self.fields[name].widget.attrs |= PLAIN

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if cleaned["chosen"]:
            self._check("name", lambda name: check_module_name(name, reserved=settings.RESERVED_NAMES))
            self._check("system", check_system)
            self._check("version", versions.parse)
        return cleaned

    def _check(self, field: str, rule: Callable[[str], object]) -> None:
        try:
            rule(str(self.cleaned_data.get(field, "")))
        except Invalid as refusal:
            self.add_error(field, sentence(refusal))

    def part(self) -> Part:
        cleaned = self.cleaned_data
        return Part(self.folder, ModuleAddress(self.namespace, cleaned["name"], cleaned["system"]), cleaned["version"])


def name_of(folder: str) -> str:
    """A module name from a folder's: modules/My_Subnets is my_subnets; "" if no valid character is left."""
    last = re.sub(r"[^a-z0-9_-]+", "-", folder.rpartition("/")[2].lower())
    plain = re.sub(r"[-_]{2,}", "-", last).strip("-_")
    return _REPOSITORY.sub("", plain)
