"""The script that Larder serves, where it does not simply publish: it says what Larder says, waits, continues, and
keeps tokens to itself. What each CI does is in test_trusted_publishing.py.
"""

import os
import re

import pytest

from apps.contrib.trusted.tests.conftest import claims_of
from tests.builders.ci_claims import SHAPES
from tests.e2e.ci_jobs import SHELLS, Machine, Step
from tests.flows.crashing import make_key

pytestmark = [pytest.mark.live, pytest.mark.needs("curl", "git", "dash")]
RULES = "/api/v1/namespaces/bakery/trusted-publishers"
BROKEN = 'module "x" {\n  source = "./nowhere"\n}\n'


@pytest.fixture(scope="module")
def owner(loopback, ci_system):
    """The admin, with a namespace whose key the registry holds and a trusted publisher."""
    with loopback.client(loopback.token()) as client:
        make_key(client, "bakery", visibility="private")
        client.post(RULES, json={"kind": "github", "issuer": ci_system.url, **SHAPES["github"].rule}).raise_for_status()
        yield client


@pytest.fixture(scope="module")
def token(loopback, owner):
    return loopback.token("admin", "publish", "--namespace", "bakery")


@pytest.fixture
def id_token(loopback, ci_system):
    def signed(**claims):
        return ci_system.signed(
            claims_of(ci_system, SHAPES["github"], **{"aud": loopback.url, **claims}), algorithm="ES256"
        )

    return signed


@pytest.fixture
def machine(tmp_path, loopback):
    """With the script beside the repository, and a provider that is built."""
    here = Machine(tmp_path / "dash", loopback.url, loopback.ca_bundle)
    download(here, loopback)
    return here


def download(machine, loopback):
    with loopback.client() as client:
        (machine.folder / "publish.sh").write_text(client.get("/publish.sh").raise_for_status().text)


@pytest.fixture
def publish(machine, loopback, token):
    """Run the script: `publish("bakery/vpc/aws 1.0.0", status=1)` answers what it prints."""

    def run(words, status=0, here=machine, **environment):
        given = {"LARDER_URL": loopback.url, "LARDER_TOKEN": token, **environment}
        done = here.run(Step(("sh", "-c"), f"sh ../publish.sh {words}", given))
        assert done.returncode == status, done.stdout
        for secret in (token, "eyJ", *(value for name, value in environment.items() if name.endswith("TOKEN"))):
            assert not secret or secret not in done.stdout
        return done.stdout

    return run


def page_of(said):
    (found,) = re.findall(r"https://\S+/releases/[0-9a-f-]{36}", said)
    return found


# --- Refused ---------------------------------------------------------------------------------------------------------


def test_a_refused_exchange_names_the_claim(publish, id_token, owner):
    said = publish("bakery/refused/aws 1.0.0", 1, LARDER_TOKEN="", LARDER_ID_TOKEN=id_token(repository_id="2"))
    assert said.startswith("Larder refused the id token of this run for bakery/refused/aws:\n")
    assert "claim repository_id" in said
    assert "found 2, expected 1" in said
    assert owner.get("/api/v1/modules/bakery/refused/aws/1.0.0").status_code == 404


def test_a_rejected_archive_prints_its_reasons_and_its_number_stays_free(publish, machine):
    machine.write("main.tf", BROKEN)
    machine.commit("v1")
    said = publish("bakery/rejected/aws 1.0.0", 1)
    assert said.startswith("bakery/rejected/aws 1.0.0 is not published:\nFound main.tf, line 1: the source of module x")
    machine.write("main.tf", "# fixed\n")
    machine.commit("v2")
    assert "Published bakery/rejected/aws 1.0.0." in publish("bakery/rejected/aws 1.0.0")


def test_the_script_says_what_larder_says(publish, machine):
    (machine.repository / "module.zip").write_bytes(b"no archive")
    machine.run(Step(("sh", "-c"), "sh ci/build.sh 3.0.0"))
    assert "expected a version like 1.2.0 or 1.2.0-rc.1" in publish("bakery/said/aws v3 module.zip", 1)
    assert "expected a zip, tar.gz or tar.xz archive. Pack" in publish("bakery/said/aws 3.0.0 module.zip", 1)
    assert "This API token is unknown." in publish("bakery/said/aws 3.0.0", 1, LARDER_TOKEN="lrd_s_" + "a" * 42)
    assert "There is no namespace 'elsewhere'" in publish("elsewhere/dns 3.0.0", 1)
    (machine.repository / "terraform-registry-manifest.json").unlink()
    assert "no plugin protocols" in publish("bakery/dns 3.0.0 dist", 1)


def test_what_is_missing_is_named_before_anything_is_sent(publish, machine):
    nothing = {"LARDER_TOKEN": ""}
    assert "permissions: id-token: write" in publish("bakery/x/aws 1.0.0", 2, GITHUB_ACTIONS="true", **nothing)
    assert "id_tokens: LARDER_ID_TOKEN" in publish("bakery/x/aws 1.0.0", 2, GITLAB_CI="true", **nothing)
    assert "$(System.AccessToken)" in publish("bakery/x/aws 1.0.0", 2, TF_BUILD="True", **nothing)
    assert "oidc: audiences" in publish("bakery/x/aws 1.0.0", 2, BITBUCKET_BUILD_NUMBER="7", **nothing)
    assert "circleci or buildkite-agent" in publish("bakery/x/aws 1.0.0", 2, CIRCLECI="true", **nothing)
    assert "or LARDER_TOKEN" in publish("bakery/x/aws 1.0.0", 2, **nothing)
    assert "does this run build a tag?" in publish('bakery/x/aws ""', 2)
    assert "Set LARDER_URL" in publish("bakery/x/aws 1.0.0", 2, LARDER_URL="")
    assert "expected a URL" in publish("bakery/x/aws 1.0.0", 2, LARDER_URL='https://a"b')
    assert "expected NAMESPACE/NAME/SYSTEM" in publish("bakery 1.0.0", 2)
    assert "Usage: sh publish.sh" in publish("bakery/x/aws", 2)
    assert "Found no terraform-provider-dns_1.0.0_<os>_<arch>.zip in dist" in publish("bakery/dns 1.0.0", 2)
    assert "Found no file or folder nowhere.zip" in publish("bakery/x/aws 1.0.0 nowhere.zip", 2)


def test_an_unknown_authority_is_named_and_its_file_can_be_given(publish, machine, loopback):
    machine.commit("v1")
    del machine.environment["CURL_CA_BUNDLE"]
    said = publish("bakery/trusted/aws 1.0.0", 1)
    assert f"curl does not trust the certificate of {loopback.url}. Set LARDER_CA_FILE" in said
    ca = loopback.data_dir / "tls" / "ca.pem"
    assert "Published bakery/trusted/aws 1.0.0." in publish("bakery/trusted/aws 1.0.0", LARDER_CA_FILE=str(ca))


# --- Waiting ---------------------------------------------------------------------------------------------------------


def test_a_held_release_prints_its_question_and_the_page_for_the_answer(publish, machine, owner):
    owner.patch("/api/v1/namespaces/bakery", json={"breaking_changes": "ask"}).raise_for_status()
    machine.write("main.tf", 'variable "a" {\n  default = ""\n}\n')
    machine.commit("v1")
    publish("bakery/held/aws 1.0.0")
    machine.write("main.tf", "# without its input\n")
    machine.commit("v2")
    said = publish("bakery/held/aws 1.0.1", 1)
    assert "bakery/held/aws 1.0.1 is not published: it waits for an answer. A publisher of bakery gives it on " in said
    assert "breaking change" in said
    release = owner.get("/api/v1/modules/bakery/held/aws/1.0.1").json()
    assert page_of(said).endswith(release["id"])


def test_a_release_that_awaits_approval_is_a_success_that_names_the_page(publish, machine, owner, asks_for_approval):
    machine.write("main.tf", "# to be approved\n")
    machine.commit("v1")

    said = publish("bakery/awaits/aws 1.0.0")
    assert "bakery/awaits/aws 1.0.0 passed the checks and awaits approval." in said
    assert "A publisher of bakery other than its author approves or declines it:" in said
    assert owner.get(page_of(said).replace("/releases/", "/api/v1/releases/")).json()["state"] == "awaiting-approval"
    assert page_of(publish("--published-only bakery/awaits/aws 1.0.0", 3)) == page_of(said)


@pytest.fixture
def asks_for_approval(owner):
    for asked in (True, False):
        owner.patch("/api/v1/namespaces/bakery", json={"requires_approval": asked}).raise_for_status()
        if asked:
            yield


CHECKING = """
from datetime import timedelta
from django.utils import timezone
from apps.jobs.models import Job
from apps.releases.models import Release
slow = Release.objects.filter(name="slow/aws")
jobs = Job.objects.filter(target__in=slow.values("pk"), kind__startswith="publish-")
assert jobs.update(state="running", lease_until=timezone.now() + timedelta(hours=1))
assert slow.update(state="checking")
"""


def test_waiting_ends_and_the_release_continues(publish, machine, loopback):
    machine.write("main.tf", "# slow\n")
    machine.commit("v1")
    publish("bakery/slow/aws 1.0.0")
    loopback.manage("shell", "--verbosity", "0", "-c", CHECKING)
    said = publish("bakery/slow/aws 1.0.0", 1, LARDER_WAIT="1")
    assert said.startswith("Larder is still checking bakery/slow/aws 1.0.0. The release continues: ")
    assert page_of(said)


# --- Again -----------------------------------------------------------------------------------------------------------


def test_the_same_bytes_succeed_again_and_others_do_not(publish, machine, id_token):
    machine.commit("v1")
    for _ in range(2):
        said = publish("bakery/again/aws 1.0.0", LARDER_TOKEN="", LARDER_ID_TOKEN=id_token())
        assert "Published bakery/again/aws 1.0.0." in said
    machine.write("main.tf", "# other\n")
    machine.commit("v2")
    assert "A published version never changes" in publish("bakery/again/aws 1.0.0", 1)


def test_a_provider_continues_where_it_stopped_without_what_is_no_longer_built(publish, machine, owner):
    machine.run(Step(("sh", "-c"), "sh ci/build.sh 5.0.0"))
    dist, draft = machine.repository / "dist", "/api/v1/providers/bakery/dns/5.0.0"
    first = min(dist.glob("*.zip"))
    owner.post(draft, json={}).raise_for_status()
    owner.put(f"{draft}/files/{first.name}", content=first.read_bytes()).raise_for_status()
    stale = first.name.replace("darwin_arm64", "windows_386")
    owner.put(f"{draft}/files/{stale}", content=b"of an older build").raise_for_status()
    (dist / "artifacts.json").write_text("[]")
    (dist / f"{first.name}.sbom.json").write_text("{}")
    (dist / "dns_linux_amd64_v1").mkdir()

    said = publish("bakery/dns 5.0.0")

    assert f"Already sent: {first.name}\n" in said
    assert f"Not published: {first.name}.sbom.json\n" in said
    assert "Sent: terraform-provider-dns_5.0.0_manifest.json\n" in said
    assert "artifacts.json" not in said
    release = owner.get(draft).json()
    assert release["state"] == "published"
    assert release["platforms"] == ["darwin_arm64", "linux_amd64"]
    assert "Published bakery/dns 5.0.0." in publish("bakery/dns 5.0.0")


# --- Secrets ---------------------------------------------------------------------------------------------------------

# In place of curl: it notes the arguments, which every user of the machine may read.
NOTING = """#!/bin/sh
printf '%s\\n' "$@" >> {folder}/arguments
exec {curl} "$@"
"""


@pytest.mark.parametrize("shell", [pytest.param(one, marks=pytest.mark.needs(one)) for one in SHELLS])
def test_no_token_is_printed_or_among_the_arguments_of_a_program(shell, tmp_path, loopback, token, id_token, publish):
    here = Machine(tmp_path / "noting", loopback.url, loopback.ca_bundle, shell)
    download(here, loopback)
    here.commit("v1")
    curl = next(f"{one}/curl" for one in os.environ["PATH"].split(":") if os.path.exists(f"{one}/curl"))  # noqa: PTH110
    here.program("curl", NOTING.format(folder=here.folder, curl=curl))
    (here.folder / ".curlrc").write_text("verbose\ntrace-ascii = -\n")
    (here.folder / "temporary").mkdir()
    given = {"LARDER_URL": loopback.url, "TMPDIR": str(here.folder / "temporary")}
    for name, secret in (("LARDER_TOKEN", token), ("LARDER_ID_TOKEN", id_token())):
        step = Step(("sh", "-xc"), f"sh -x ../publish.sh bakery/secret/{shell} 1.0.0", {**given, name: secret})
        done = here.run(step)
        assert "Published" in done.stdout
        arguments = (here.folder / "arguments").read_text()
        assert "trusted-publishing/token" in arguments or name == "LARDER_TOKEN"
        for text in (done.stdout, arguments):
            assert secret not in text
            assert not re.search(r"lrd_\w{8}|eyJ\w{8}|Authorization", text)
        assert not list((here.folder / "temporary").iterdir())
