"""Reports that runs of a trusted publisher send, and those that others send about the release of such a run."""

from apps.contrib.checks import policy
from apps.contrib.checks.policy import Requirement
from apps.contrib.checks.tests import samples
from apps.contrib.checks.tests.conftest import URL
from apps.releases.models import Release
from tests.builders.archives import module_zip


def test_a_report_of_a_run_of_the_repository_says_verified_origin(
    ci, tofu, send, browser_of, alice, bob, require, work
):
    assert ci().generic("PUT", "/api/v1/modules/acme/vpc/aws/1.2.0", module_zip()).status_code == 202
    work()
    senders = {"by-hand": tofu(alice), "checkov": ci(), "nightly": ci(run_id="999", event_name="schedule")}
    for name, client in senders.items():
        assert send(client, samples.CLEAN, name).status_code == 201, name

    verified = {one["name"]: one["verified_origin"] for one in tofu(bob).get(URL).json()["checks"]}

    assert verified == {"by-hand": False, "checkov": True, "nightly": True}
    page = browser_of(bob).get("/modules/acme/vpc/aws/1.2.0/checks").content.decode()
    for name, is_verified in verified.items():
        row = page.partition(f'<tr data-check="{name}">')[2].partition("</tr>")[0]
        assert ("Verified origin" in row) == is_verified, name
    require(Requirement("*", verified_origin=True), mode="warn")
    assert policy.missing(Release.objects.get()) == [
        "*: by-hand was not sent by a run of the release's verified origin"
    ]
