"""CI publishes a module and a provider with an id token alone: the files of docs/publishing.md, as each system runs
them, in each vendor's shape, with the script that Larder serves and under each shell.
"""

import itertools

import pytest

from apps.contrib.trusted.tests.conftest import claims_of
from tests.builders import ci_vendors
from tests.builders.ci_claims import SHAPES
from tests.e2e.ci_jobs import NAMESPACE, SECTIONS, SHELLS, TAGS, Machine, Step, block, jobs_of
from tests.flows.crashing import make_key

pytestmark = [pytest.mark.live, pytest.mark.needs("curl", "git")]
RULES = f"/api/v1/namespaces/{NAMESPACE}/trusted-publishers"
JOBS = itertools.count()
# The system of another issuer asks for the id token itself.
BY_HAND = """set -e
curl -fsSo publish.sh "$LARDER_URL/publish.sh"
LARDER_URL="$LARDER_URL/" sh publish.sh {} "${{TAG#v}}"
"""


@pytest.fixture(scope="module")
def vendors():
    with ci_vendors.running() as found:
        yield found


@pytest.fixture(scope="module")
def owner(loopback):
    """The admin, with a public namespace whose key the registry holds."""
    with loopback.client(loopback.token()) as client:
        make_key(client, NAMESPACE)
        yield client


@pytest.fixture(scope="module")
def rule(owner, ci_system):
    """Add the trusted publisher of a kind once, and answer whom its releases name."""
    added = {}

    def of(kind):
        if kind not in added:
            answer = owner.post(RULES, json={"kind": kind, "issuer": ci_system.url, **SHAPES[kind].rule})
            assert answer.status_code == 201, answer.text
            added[kind] = answer.json()["publishes_as"]
        return added[kind]

    return of


@pytest.fixture
def machine(tmp_path, loopback):
    def of(shell="dash"):
        return Machine(tmp_path / shell, loopback.url, loopback.ca_bundle, shell)

    return of


@pytest.fixture
def run(ci_system, vendors, rule):
    """Execute steps as a run of this vendor: `run(machine, "github", steps, tag="v1.0.0")`."""

    def execute(machine, kind, steps, *, tag, audience="", **claims):
        rule(kind)

        def signed(audience):
            own = {"job_id": f"job-{next(JOBS)}"} | ({"aud": audience} if audience else {})
            return ci_system.signed(claims_of(ci_system, SHAPES[kind], **{**own, **claims}), algorithm="ES256")

        vendors.signed, vendors.asked = signed, []
        told = {name: value.replace("{}", tag) for name, value in TAGS.get(kind, {"TAG": "{}"}).items()}
        told |= vendors.environment(kind, machine.programs, audience)
        # Only a step that names the job's own token has it.
        steps = [Step(one.shell, one.text, _filled(one.environment)) for one in steps]
        done = machine.run(*steps, told=told)
        assert "lrd_" not in done.stdout
        assert "eyJ" not in done.stdout
        return done

    return execute


def _filled(environment):
    return {name: value.replace("$(System.AccessToken)", ci_vendors.CREDENTIAL) for name, value in environment.items()}


def files_of(kind, loopback):
    """The module's job and the provider's, from the page."""
    if kind in SECTIONS:
        return jobs_of(kind, block(SECTIONS[kind]).replace("https://registry.example.com", loopback.url))
    return {}


@pytest.mark.parametrize("shell", [pytest.param(one, marks=pytest.mark.needs(one)) for one in SHELLS])
@pytest.mark.parametrize("kind", SECTIONS)
def test_the_file_of_each_vendor_publishes_both_with_an_id_token_alone(
    kind, shell, loopback, owner, machine, run, rule, vendors
):
    here, jobs = machine(shell), files_of(kind, loopback)
    assert jobs.keys() == {"module", "provider"}
    module, provider = f"{NAMESPACE}/vpc-{kind}/aws", f"{NAMESPACE}/dns"
    version = f"{list(SECTIONS).index(kind) + 1}.{SHELLS.index(shell)}.0"

    for name, job in jobs.items():
        tag = f"v{version}"
        here.commit(f"{tag}-{name}")
        steps = [Step(one.shell, one.text.replace("acme/vpc/aws", module), one.environment) for one in job.steps]
        done = run(here, kind, steps, tag=tag, audience=job.audience)
        address = module if name == "module" else provider
        assert done.returncode == 0, done.stdout
        assert "publish.sh: OK" in done.stdout
        page = f"{loopback.url}/{name}s/{address}/{version}"
        assert done.stdout.endswith(f"Published {address} {version}.\n{page}\n")
        shown = owner.get(f"/api/v1/{name}s/{address}/{version}").json()
        assert shown["state"] == "published"
        assert version in owner.get(page).raise_for_status().text
    assert shown["protocols"] == ["6.0"]
    assert owner.get(f"/api/v1/providers/{provider}/{version}/details").json()["published_by"] == rule(kind)
    asked = {
        "github": "GET /github",
        "azure": "POST /azure",
        "circleci": "GET /circleci",
        "buildkite": "GET /buildkite",
    }
    assert vendors.asked == ([asked[kind]] if kind in asked else [])


@pytest.mark.parametrize("shell", [pytest.param(one, marks=pytest.mark.needs(one)) for one in SHELLS])
def test_another_issuer_publishes_with_the_id_token_that_it_is_given(shell, loopback, owner, machine, run):
    here = machine(shell)
    here.commit("v1")
    address, tag = f"{NAMESPACE}/vpc/any", f"v1.{SHELLS.index(shell)}.0"
    step = Step(("sh", "-c"), BY_HAND.format(address), {"LARDER_URL": loopback.url})
    done = run(here, "oidc", [step], tag=tag, audience=loopback.url)
    assert done.returncode == 0, done.stdout
    assert f"Published {address} {tag[1:]}." in done.stdout
