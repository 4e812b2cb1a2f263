"""The database is stopped, and clients install what they have installed before (LARDER_SERVE_STALE_SECONDS)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests import dumps, postgres
from tests.builders.archives import module_zip
from tests.e2e.oci.clients import Tofu
from tests.e2e.workspace import Workspace
from tests.live import Live, start_live
from tests.needs import needs
from tests.site.processes import eventually

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.embedded("stops its own database")]

SECONDS = 120
OUTPUT = 'output "a" { value = 1 }\n'  # needs no provider
STALE = '110 - "Response is Stale"'
NOISE = bytes(range(256)) * 1024  # larger than what the front keeps in memory


@dataclass
class Installing:
    larder: Live
    database: postgres.Server
    admin: httpx.Client
    reader: str
    revoked: str

    def statuses(self, client: httpx.Client, url: str, times: int = 12) -> set[int]:
        """Of many connections."""
        found = set()
        for _ in range(times):
            answer = client.get(url, headers={"Connection": "close"})
            assert answer.status_code != 200 or answer.headers.get("Warning") == STALE, answer.headers
            found.add(answer.status_code)
        return found


@pytest.fixture(scope="module")
@needs("postgres")
def installing(tmp_path_factory) -> Iterator[Installing]:
    database = postgres.Server(keeps_commits=True)
    # One process: each repeats its own answers.
    variables = {"LARDER_SERVE_STALE_SECONDS": str(SECONDS), "LARDER_WEB_PROCESSES": "1"}
    folder = tmp_path_factory.mktemp("outage")
    with (
        start_live(
            folder,
            why="it repeats answers while its database is away",
            LARDER_DATABASE_URL=dumps.fill(database.url),
            **variables,
        ) as larder,
        larder.client(token := larder.token()) as admin,
    ):
        for name, visibility in (("open", "public"), ("closed", "private"), ("hiding", "public"), ("last", "public")):
            admin.put(f"/api/v1/namespaces/{name}", json={"visibility": visibility}).raise_for_status()
            for version in ("1.0.0", "2.0.0"):
                data = module_zip({"main.tf": OUTPUT, "noise.bin": NOISE}, comment=f"{name} {version}".encode())
                assert larder.publish(f"{name}/vpc/aws", version, data, token)["state"] == "published"
        yield Installing(larder, database, admin, larder.token("admin", "read"), larder.token("admin", "read"))


def url_of(namespace: str, version: str = "") -> str:
    return f"/v1/modules/{namespace}/vpc/aws/" + (f"{version}/download" if version else "versions")


def versions_of(answer: httpx.Response) -> list[str]:
    return [one["version"] for one in answer.json()["modules"][0]["versions"]]


def workspace(folder: Path, installing: Installing) -> Workspace:
    made = Workspace(folder, "terraform", installing.larder)
    made.credentials(installing.reader)
    made.module("open", "open/vpc/aws", "1.0.0")
    made.module("closed", "closed/vpc/aws", "1.0.0")
    return made


def packages(installing: Installing) -> list[bytes]:
    """Return the packages that tofu pulls for oci://."""
    client = Tofu(installing.larder, installing.reader)
    return [client.module(f"{name}/vpc/aws", tag="1.0.0") for name in ("open", "closed")]


def all_packages(installing: Installing) -> list[bytes]:
    """The same, after those that are hidden later."""
    Tofu(installing.larder, installing.revoked).module("closed/vpc/aws", tag="1.0.0")
    Tofu(installing.larder, installing.reader).module("open/vpc/aws", tag="2.0.0")
    return packages(installing)


def check_packages(installing: Installing, pulled: list[bytes]) -> None:
    assert packages(installing) == pulled
    for password, name, tag in (
        (installing.revoked, "closed", "1.0.0"),
        (installing.reader, "open", "2.0.0"),
        ("", "closed", "1.0.0"),
    ):
        with pytest.raises(AssertionError, match=r"503|UNAVAILABLE"):
            Tofu(installing.larder, password).module(f"{name}/vpc/aws", tag=tag)


def is_fresh(answer: httpx.Response) -> bool:
    return answer.status_code == 200 and "Warning" not in answer.headers


def hide(installing: Installing) -> None:
    """Revoke a token, hide a namespace, put a version into quarantine: each is acknowledged."""
    admin = installing.admin
    tokens = admin.get("/api/v1/tokens").json()["tokens"]
    number = next(one["id"] for one in tokens if installing.revoked.startswith(one["start"]))
    admin.delete(f"/api/v1/tokens/{number}").raise_for_status()
    admin.put("/api/v1/namespaces/hiding", json={"visibility": "private"}).raise_for_status()
    reason = {"reason": "malware"}
    admin.post("/api/v1/modules/open/vpc/aws/2.0.0/quarantine", json=reason).raise_for_status()


@needs("terraform")
def test_terraform_installs_and_nothing_that_was_hidden_a_moment_before_is_answered(installing, tmp_path):
    larder = installing.larder
    with (
        larder.client() as nobody,
        larder.client(installing.reader) as reader,
        larder.client(installing.revoked) as revoked,
        larder.client(larder.token("admin", "read")) as stranger,
    ):
        for client, namespace in (
            (reader, "open"),
            (reader, "closed"),
            (revoked, "closed"),
            (nobody, "hiding"),
            (nobody, "last"),
        ):
            for version in ("", "1.0.0", "2.0.0"):
                client.get(url_of(namespace, version)).raise_for_status()
        archive = nobody.get(url_of("hiding", "2.0.0")).headers["X-Terraform-Get"].partition("?")[0]
        bad = reader.get(url_of("open", "2.0.0")).headers["X-Terraform-Get"].partition("?")[0]
        assert [nobody.get(one).status_code for one in (archive, bad)] == [200, 200]
        assert workspace(tmp_path / "before", installing).init().returncode == 0
        pulled = all_packages(installing)

        hide(installing)
        # What the quarantine ended is asked for again before the outage.
        assert workspace(tmp_path / "again", installing).init().returncode == 0
        assert packages(installing) == pulled
        for client, url in ((nobody, url_of("last")), (nobody, url_of("open")), (reader, url_of("closed", "1.0.0"))):
            client.get(url).raise_for_status()
        yanked = installing.admin.post("/api/v1/modules/last/vpc/aws/2.0.0/yank", json={"reason": "broken"})
        yanked.raise_for_status()
        installing.database.stop_at_once()
        try:
            eventually(lambda: "Warning" in reader.get(url_of("closed", "1.0.0")).headers, what="a repeated answer")
            said = workspace(tmp_path / "during", installing).init()
            assert said.returncode == 0, said.stderr
            check_packages(installing, pulled)
            assert installing.statuses(nobody, url_of("open")) == {200}
            assert installing.statuses(reader, url_of("closed", "1.0.0")) == {200}
            for client, url in (
                (revoked, url_of("closed", "1.0.0")),
                (stranger, url_of("closed", "1.0.0")),
                (nobody, url_of("closed", "1.0.0")),
                (nobody, url_of("hiding")),
                (nobody, url_of("open", "2.0.0")),
                (reader, url_of("open", "2.0.0")),
                (nobody, archive),
                (nobody, bad),
            ):
                assert not installing.statuses(client, url) & {200, 302}, url
            # The process may have asked for it again before the outage: then it says what is so.
            for answer in (nobody.get(url_of("last")) for _ in range(12)):
                assert answer.status_code == 503 or versions_of(answer) == ["1.0.0"]
            status = nobody.get("/status", headers={"Accept": "application/json"})
            assert status.json()["serving_stale"].keys() == {"since", "until", "answers"}
            assert "cached responses until" in nobody.get("/status", headers={"Accept": "text/html"}).text
        finally:
            installing.database.start_again()
        eventually(lambda: is_fresh(reader.get(url_of("last"))), what="fresh answers")
        assert versions_of(reader.get(url_of("last"))) == ["1.0.0"]
