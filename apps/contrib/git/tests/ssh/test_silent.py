"""One owner, and an ssh server that accepts connections and says nothing: no request waits for it."""

import pytest

from apps.contrib.git import host_scanning
from apps.contrib.git.models import GitRepository
from apps.contrib.git.remote import host_keys
from apps.contrib.git.tests.conftest import RULES
from apps.contrib.git.tests.pages.conftest import LIST
from apps.jobs.models import Job
from tests import pages

pytestmark = [pytest.mark.slow, pytest.mark.both, pytest.mark.needs("ssh")]
REQUESTS = 12


def test_no_request_waits_for_it_and_one_owner_keeps_five_scans_in_progress(portal, call, dora, monkeypatch):
    def never(*_):
        raise AssertionError("asked in a request")

    with monkeypatch.context() as patched:
        patched.setattr(host_keys, "scanned", never)
        answers = [portal.connect(f"ssh://git@localhost:2222/acme/vpc-{number}.git") for number in range(REQUESTS // 2)]
        answers += [
            call(dora).post(url=f"ssh://git@localhost:2222/acme/dns-{number}.git", rules=RULES)
            for number in range(REQUESTS // 2)
        ]
        statuses = [answer.status_code for answer in answers]
        assert statuses == [303] * 5 + [429] * 7
        assert "5 ssh servers are being asked" in pages.text_of(answers[5])
        assert int(answers[-1].headers["Retry-After"]) <= 5
        one = GitRepository.objects.earliest("pk")
        for method in (
            lambda: portal.client.get(f"{LIST}/{one.pk}/key"),
            lambda: portal.client.get(f"{LIST}/{one.pk}/host-keys"),
            lambda: portal.client.post(f"{LIST}/{one.pk}/host-keys", {"fingerprint": "SHA256:x"}),
            lambda: portal.client.post(f"{LIST}/{one.pk}/scan"),
            lambda: call(dora).post(f"/{one.pk}/host-keys", fingerprints=["SHA256:x"]),
        ):
            assert method().status_code in (200, 202, 303, 409)
    assert Job.objects.filter(kind=host_scanning.JOB, state="queued").count() == 5
