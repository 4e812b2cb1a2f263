"""Nobody edits what happened or what was published, superusers included."""

import pytest
from django.forms.models import model_to_dict
from django.urls import reverse

from apps.accounts.models import ApiToken
from apps.audit.models import AuditEvent
from apps.blobs.models import Blob
from apps.jobs.models import Job
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import DownloadCount, Release, SearchDoc
from tests.admin import rows

UNTOUCHED = (AuditEvent, Blob, Release, Module, ModuleVersion, Job, ApiToken, DownloadCount, SearchDoc)


def first(model):
    return model.objects.order_by("pk").first()


def name_of(model):
    return f"admin:{model._meta.app_label}_{model._meta.model_name}"


@pytest.mark.parametrize("model", UNTOUCHED)
def test_the_page_has_no_field_to_edit(desk, model):
    rows.make(0, 1)
    page = desk.get(reverse(f"{name_of(model)}_change", args=[first(model).pk]))

    assert page.status_code == 200
    assert page.context["adminform"].form.fields == {}
    assert 'name="_save"' not in page.text


@pytest.mark.parametrize("model", UNTOUCHED)
def test_nothing_that_is_posted_changes_anything(desk, model):
    rows.make(0, 1)
    row = first(model)
    before = model_to_dict(row)
    events = AuditEvent.objects.count()
    posted = {field.name: "0" * 64 for field in model._meta.fields if field.editable}

    assert desk.post(reverse(f"{name_of(model)}_change", args=[row.pk]), posted).status_code == 403
    assert desk.post(reverse(f"{name_of(model)}_add"), posted).status_code == 403
    assert desk.post(reverse(f"{name_of(model)}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
    assert model_to_dict(first(model)) == before
    assert AuditEvent.objects.count() == events


def test_the_reasons_of_a_refused_release_can_be_read(desk):
    rows.make(0, 1)
    reason = {"code": "empty", "found": "an archive without a single file", "expected": "files", "mend": "Zip them"}
    Release.objects.update(state="rejected", reasons=[reason])
    page = desk.get(reverse("admin:releases_release_change", args=[Release.objects.get().pk])).text

    assert "an archive without a single file" in page
    assert "Zip them" in page
