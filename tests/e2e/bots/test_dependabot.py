"""docs/recipes/update-bots.md: what Dependabot asks, and how it reads the answers.

`dependabot.json` has the requests of the registry clients of dependabot-core 0.392.0 (ecosystems terraform and
opentofu), which were executed for it; the tests read the answers as those clients do.
"""

import re
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
import yaml

from tests import documents
from tests.e2e.bots.recorder import recording, replay
from tests.e2e.bots.test_renovate import PAGE, SOURCES, described  # noqa: F401  # a fixture
from tests.e2e.pages import HOST, Registry

pytestmark = [pytest.mark.live, pytest.mark.needs("curl")]
BASES = {"modules": "/v1/modules/", "providers": "/v1/providers/"}


@pytest.fixture(scope="module")
def answers(described: Registry) -> dict[str, httpx.Response]:  # noqa: F811
    return replay(described.larder, described.read, recording("dependabot"))


def test_it_finds_the_services_and_the_versions_of_both(answers: dict[str, httpx.Response]) -> None:
    services = answers["/.well-known/terraform.json"].json()
    module = answers[urljoin(BASES["modules"], "acme/vpc/aws/versions")].json()["modules"][0]
    provider = answers[urljoin(BASES["providers"], "acme/dns/versions")].json()

    assert {kind: services[f"{kind}.v1"] for kind in BASES} == BASES
    for document in (module, provider):
        assert sorted(one["version"] for one in document["versions"]) == ["1.0.0", "1.2.0"]
    # Of an OCI source, with the token.
    tags = answers["/v2/acme/vpc/aws/tags/list"].json()["tags"]
    assert [tag for tag in tags if re.fullmatch(r"[0-9]+(\.[0-9]+)*", tag)] == ["1.0.0", "1.2.0"]


def test_it_finds_the_repository_of_a_provider(answers: dict[str, httpx.Response]) -> None:
    details: dict[str, Any] = answers[urljoin(BASES["providers"], "acme/dns/1.2.0")].json()

    assert details["source"] == SOURCES["providers"]
    assert re.search(r"github\.com[/:](?P<repo>[\w.-]+/[\w.-]+)", details["source"])["repo"]  # type: ignore[index]  # found


def test_the_download_of_a_module_is_no_way_to_its_repository(answers: dict[str, httpx.Response]) -> None:
    """It reads the header of a 204 alone: the page says that it shows no changelog of modules."""
    answer = answers[urljoin(BASES["modules"], "acme/vpc/aws/1.2.0/download")]

    assert answer.status_code == 200
    assert answer.headers["X-Terraform-Get"].startswith("/archives/")


def test_the_file_of_the_page_names_the_registry_as_its_schema_wants() -> None:
    [text] = [fence.text for fence in documents.fences(PAGE) if fence.language == "yaml"]
    file = yaml.safe_load(text)

    assert file["registries"]["larder"] == {
        "type": "terraform-registry",
        "url": f"https://{HOST}",
        "token": "${{ secrets.LARDER_TOKEN }}",
    }
    assert {update["package-ecosystem"] for update in file["updates"]} == {"terraform"}
    assert all(update["registries"] == ["larder"] for update in file["updates"])
