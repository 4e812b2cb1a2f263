"""Findings of the storage check in the admin."""

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.blobs.models import Blob
from tests.admin.rows import digest_of
from tests.admin.test_overview import lines
from tests.rows import for_each_row

LIST = reverse("admin:blobs_blob_changelist")


@pytest.fixture
def blobs(db):
    now = timezone.now()
    found = {"missing": ("missing", now), "damaged": ("damaged", now), "sound": ("", now), "unchecked": ("", None)}
    Blob.objects.bulk_create(
        Blob(digest=digest_of(name), size=1, state="ready", problem=problem, checked_at=at)
        for name, (problem, at) in found.items()
    )


@pytest.mark.both
@for_each_row(
    ("problem", "names"),
    [
        ("any", ["damaged", "missing"]),
        ("missing", ["missing"]),
        ("damaged", ["damaged"]),
        ("unchecked", ["unchecked"]),
        ("nonsense", ["unchecked", "sound", "damaged", "missing"]),
    ],
)
def test_the_filter_narrows_the_list(operator_client, blobs, problem, names):
    rows = operator_client.get(LIST, {"problem": problem}).context["cl"].result_list

    assert [row.digest for row in rows] == [digest_of(name) for name in names]


def test_list_and_page_wear_the_badge_of_a_problem_and_else_none(operator_client, blobs):
    page = operator_client.get(LIST).text
    for name in ("missing", "damaged"):
        badge = f'<span class="badge badge--bad">{name}</span>'
        blob = Blob.objects.get(digest=digest_of(name))
        assert page.count(badge) == 1
        assert badge in operator_client.get(reverse("admin:blobs_blob_change", args=[blob.pk])).text
    assert page.count('class="field-problem_badge">-</td>') == 2
    assert page.count('<span class="badge">ready</span>') == 4


def test_the_overview_tells_and_leads_there(operator_client, blobs):
    found = lines(operator_client)

    for blob in Blob.objects.exclude(problem=""):
        line = found.pop(f"{blob} is {blob.problem}")
        assert line.tone == "bad"
        assert operator_client.get(line.url).status_code == 200
    assert [title for title in found if title.startswith("sha256:")] == []
