"""/api/v1/jobs: staff see the list of work, and retry and cancel it."""

import pytest

from apps.jobs.models import Job, State

URL = "/api/v1/jobs"


@pytest.fixture
def failed(published):
    release = published("acme/vpc/aws", "1.2.0")
    return Job.objects.create(
        kind="verify-release", target=release.pk, state=State.FAILED, error="Traceback", request_id="r-1"
    )


def rows(client, query=""):
    answer = client.get(f"{URL}{query}")
    assert answer.status_code == 200, answer.content
    return [(row["kind"], row["target"], row["state"]) for row in answer.json()["jobs"]]


@pytest.mark.both
def test_staff_find_a_job_by_state_kind_and_what_it_works_on(failed, tofu, olga):
    client, ours = tofu(olga), ("verify-release", "acme/vpc/aws 1.2.0", "failed")
    other = ("publish-module", "acme/vpc/aws 1.2.0", "succeeded")

    statement = ("state-release", "acme/vpc/aws 1.2.0", "queued")
    assert rows(client) == [ours, statement, other]
    assert rows(client, "?state=failed") == rows(client, "?kind=verify-release") == [ours]
    assert rows(client, "?q=acme/vpc") == [ours, statement, other]
    assert rows(client, "?q=r-1") == [ours]
    assert rows(client, "?q=pantry") == []
    assert client.get(f"{URL}?state=lost").status_code == 422
    one = client.get(f"{URL}/{failed.pk}").json()
    assert (one["error"], one["request_id"], one["by"]) == ("Traceback", "r-1", None)
    assert client.get(f"{URL}/0").status_code == 404
    assert client.get(f"{URL}/{10**30}").status_code == 404


def test_the_list_has_pages_and_few_queries(failed, tofu, olga, in_pages):
    for number in range(6):
        Job.objects.create(kind="publish-module", target=failed.target, state=State.FAILED, request_id=str(number))
    rows = in_pages(tofu(olga), URL, queries=4, size=3)  # superusers need no query for permissions

    seen = [row["id"] for row in rows]
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 9
