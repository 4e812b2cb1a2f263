"""A Larder whose worker is killed at each step between a tag and its release. Nothing is published twice."""

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders.git_servers import git_site
from tests.live import Live, start_live
from tests.sources.conftest import module

pytestmark = [pytest.mark.live]

POINTS = (
    "before:git-fetch",
    "after:git-fetch",
    "after:reserve",
    "after:receive",
    "after:accept",
    "after:git-publish",
    "after:git-link",
)
VERSIONS = {f"1.{number}.0": point for number, point in enumerate(POINTS)}
DEATHS = ["after:git-list", *(f"{point}@{version}" for version, point in VERSIONS.items())]
SECONDS = 240.0


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with git_site(tmp_path_factory.mktemp("killed-git")) as found:
        yield found


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory, site: Any) -> Iterator[Live]:
    variables = {
        "LARDER_CRASH_AT": ",".join(DEATHS),
        "LARDER_JOB_LEASE_SECONDS": "5",
        "LARDER_JOB_ATTEMPTS": "50",
        "LARDER_SOURCES_ALLOW": "127.0.0.0/8",
        "LARDER_SOURCES_CA_FILE": site.ca_file,
    }
    with start_live(tmp_path_factory.mktemp("killed"), **variables) as found, found.more_workers(2):
        yield found


def test_a_worker_killed_at_each_step_leaves_right_verdicts_and_one_release_each(larder: Live, site: Any):
    repository = site.repository("acme/terraform-aws-vpc")
    for version in VERSIONS:
        repository.commit(module(version))
        repository.tag(f"v{version}", message=version)
    repository.tag("nightly")
    with larder.client(larder.token()) as client:
        client.put("/api/v1/namespaces/acme", json={"visibility": "public"}).raise_for_status()
        rules = [{"tag": "v{version}", "folder": "", "module": "vpc/aws"}]
        given = {"url": site.url_of("acme/terraform-aws-vpc"), "rules": rules}
        answer = client.post("/api/v1/namespaces/acme/repositories", json=given)
        assert answer.status_code == 201, answer.text
        one = f"/api/v1/namespaces/acme/repositories/{answer.json()['id']}"
        client.post(f"{one}/sync", json={}).raise_for_status()

        expected = {"nightly": "ignored"} | {f"v{version}": "published" for version in VERSIONS}
        deadline = time.monotonic() + SECONDS
        while True:
            tags = client.get(f"{one}/tags?per_page=100").json()["tags"]
            shown = {tag["tag"]: tag["verdict"] for tag in tags}
            if shown == expected:
                break
            assert "refused" not in shown.values(), [tag["reason"] for tag in tags]
            assert time.monotonic() < deadline, (tags, larder.output.read_text()[-3000:])
            time.sleep(0.5)

        assert Counter(tag["tag"] for tag in tags).most_common(1)[0][1] == 1
        listed = client.get("/v1/modules/acme/vpc/aws/versions").json()["modules"][0]["versions"]
        assert sorted(one["version"] for one in listed) == sorted(VERSIONS)
    killed = {path.name for path in larder.data_dir.glob("crashed-*")}
    assert killed == {f"crashed-{death.replace(':', '-')}" for death in DEATHS}, "every point killed its worker"
    live = "SELECT COUNT(*) FROM releases_release WHERE state NOT IN ('rejected', 'failed') AND name = 'vpc/aws'"
    assert larder.query(live) == len(VERSIONS)
    assert larder.query("SELECT COUNT(*) FROM jobs_job WHERE kind LIKE '%git%' AND state = 'failed'") == 0
