"""The release that the tests of a file share is whole for each of them, whatever the one before did to it."""

import shutil

import pytest

from apps.releases.models import Release
from tests.cast import BLOBS

pytestmark = pytest.mark.usefixtures("shelf")


@pytest.mark.parametrize("time", ["first", "second"])
def test_it_is_whole_for_each(time, published, stored_files):
    release = published()
    assert (release.state, release.lifecycle) == ("published", "maintained")
    assert [name for name in stored_files() if name.endswith(release.digest)]
    assert published().pk == release.pk, "the same bytes again are no other release"

    Release.objects.update(lifecycle="yanked", state="purged")
    shutil.rmtree(BLOBS)
