"""A Larder whose worker is killed at each step between a tag and its release. Nothing is published twice."""

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from apps.contrib.git.tests.conftest import module
from tests.builders.git_servers import Site
from tests.larders import GIT_DEATHS, GIT_VERSIONS
from tests.live import Live

pytestmark = [pytest.mark.live]
SECONDS = 240.0
NAME = "killed/terraform-aws-vpc"


@pytest.fixture
def larder(impatient: Live) -> Iterator[Live]:
    with impatient.more_workers(2):
        yield impatient


def test_a_worker_killed_at_each_step_leaves_right_verdicts_and_one_release_each(larder: Live, git_server: Site):
    repository = git_server.repository(NAME)
    for version in GIT_VERSIONS:
        repository.commit(module(version))
        repository.tag(f"v{version}", message=version)
    repository.tag("nightly")
    with larder.client(larder.token()) as client:
        client.put("/api/v1/namespaces/killed", json={"visibility": "public"}).raise_for_status()
        rules = [{"tag": "v{version}", "folder": "", "module": "killed/aws"}]
        given = {"url": git_server.url_of(NAME), "rules": rules}
        answer = client.post("/api/v1/namespaces/killed/repositories", json=given)
        assert answer.status_code == 201, answer.text
        one = f"/api/v1/namespaces/killed/repositories/{answer.json()['id']}"
        client.post(f"{one}/sync", json={}).raise_for_status()

        expected = {"nightly": "ignored"} | {f"v{version}": "published" for version in GIT_VERSIONS}
        deadline = time.monotonic() + SECONDS
        while True:
            tags = client.get(f"{one}/tags").json()["tags"]
            shown = {tag["tag"]: tag["verdict"] for tag in tags}
            if shown == expected:
                break
            assert "refused" not in shown.values(), [tag["reason"] for tag in tags]
            assert time.monotonic() < deadline, (tags, larder.output.read_text()[-3000:])
            time.sleep(0.5)

        assert Counter(tag["tag"] for tag in tags).most_common(1)[0][1] == 1
        listed = client.get("/v1/modules/killed/killed/aws/versions").json()["modules"][0]["versions"]
        assert sorted(one["version"] for one in listed) == sorted(GIT_VERSIONS)
    killed = {path.name for path in larder.data_dir.glob("crashed-*")}
    assert killed >= {f"crashed-{death.replace(':', '-')}" for death in GIT_DEATHS}, "every point killed its worker"
    live = "SELECT COUNT(*) FROM releases_release WHERE state NOT IN ('rejected', 'failed') AND name = 'killed/aws'"
    assert larder.query(live) == len(GIT_VERSIONS)
    assert larder.query("SELECT COUNT(*) FROM jobs_job WHERE kind LIKE '%git%' AND state = 'failed'") == 0
