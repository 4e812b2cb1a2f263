"""The origin in one line, for assistants: without names of people."""

import pytest

from apps.provenance.origin import line_of
from apps.releases.models import Release
from apps.releases.origin.rows import Origin

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def test_a_line_says_what_is_known(ci, send, published):
    release = send(ci())
    assert line_of(release) == "published by GitHub Actions from acme/vpc at 0a4d55a8d778 (verified)"
    manual = published("acme/vpc/aws", "1.3.0")
    assert line_of(manual) == "published by a person in a browser (not verified)"
    Origin.objects.all().delete()
    assert line_of(Release.objects.get(pk=manual.pk)) == "not recorded: published by an older Larder"
