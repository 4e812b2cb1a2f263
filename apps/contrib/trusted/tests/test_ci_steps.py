"""The files with which each CI publishes: valid, the same on pages and in docs/publishing.md, and made for a rule."""

import html
import json
import re
from importlib.resources import files

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.access.gate import Viewer
from apps.contrib.trusted import ci_steps, publishers, yaml_text
from apps.snippets import publish_script
from tests import documents
from tests.builders.ci_claims import SHAPES
from tests.e2e.ci_jobs import SECTIONS, block
from tests.rows import for_each_row

SCHEMAS = {
    "github": "github-workflows",
    "gitlab": "gitlab-ci",
    "azure": "azure-pipelines",
    "buildkite": "buildkite",
    "circleci": "circle-ci",
    "bitbucket": "bitbucket-pipelines",
}
HOST = "https://registry.example.com"


@pytest.fixture(autouse=True)
def _host(settings):
    settings.PUBLIC_URL, settings.PUBLIC_HOST = HOST, "registry.example.com"


@pytest.fixture
def rule(acme, dora, settings):
    """Dora's rule of a kind, as the claims of tests show it, with further fields."""
    settings.TRUSTED_ISSUERS = ("https://issuer.test",)

    def made(kind, **more):
        issuer = {"issuer": "https://issuer.test"} if kind == "oidc" else {}
        return publishers.create(
            namespace=acme, actor=Viewer(dora), kind=kind, **issuer, **{**SHAPES[kind].rule, **more}
        )

    return made


def complaints(kind, document):
    """By the schema of its vendor. That of Bitbucket is older than the list of audiences."""
    text = json.dumps({"on" if key is True else key: value for key, value in document.items()})
    text = text.replace(json.dumps({"audiences": [HOST]}), "true")
    from jsonschema.validators import validator_for

    schema = json.loads((files("check_jsonschema") / f"builtin_schemas/vendor/{SCHEMAS[kind]}.json").read_text())
    return [error.message for error in validator_for(schema)(schema).iter_errors(json.loads(text))]


@for_each_row("kind", SCHEMAS)
def test_the_page_of_the_help_has_the_same_file_and_its_vendor_takes_it(kind):
    found = {one.vendor: one for one in ci_steps.of_namespace("acme")}[kind]
    assert block(SECTIONS[kind]) == found.text + "\n"
    document = yaml.safe_load(found.text)
    assert complaints(kind, document) == []
    assert complaints(kind, document | dict.fromkeys(("jobs", "steps", "pipelines", "module"), 7))


@for_each_row("kind", SCHEMAS)
def test_the_file_of_a_rule_fits_what_it_names(kind, rule):
    added = rule(kind, only_name="vpc/aws")
    step = ci_steps.of_rule(added)
    assert "sh publish.sh acme/vpc/aws" in step.text
    assert "dns" not in step.text
    document = yaml.safe_load(step.text)
    assert complaints(kind, document) == []
    expected = {
        "github": lambda: document["jobs"]["module"]["environment"] == "production",
        "gitlab": lambda: document["module"]["id_tokens"]["LARDER_ID_TOKEN"]["aud"] == HOST,
        "azure": lambda: document["trigger"]["branches"]["include"] == ["main"] and '"$(cat VERSION)"' in step.text,
        "bitbucket": lambda: document["pipelines"]["branches"]["main"][0]["step"]["oidc"]["audiences"] == [HOST],
        "circleci": lambda: document["workflows"]["publish"]["jobs"][0]["module"]["context"] == "context-name",
        "buildkite": lambda: document["steps"][0]["key"] == "publish" and document["steps"][0]["if"].endswith('"main"'),
    }
    assert expected[kind]()
    assert any("VERSION" in note for note in step.notes) is ("VERSION" in step.text)


def test_a_hostile_value_of_a_rule_stays_a_value_and_another_issuer_has_lines_for_any_shell(rule):
    text = 'pro"duction: {x}\n#'
    added = rule("github", environment='pro"duction: {x} # y', workflow="release.yml")
    document = yaml.safe_load(ci_steps.of_rule(added).text)
    assert document["jobs"]["module"]["environment"] == 'pro"duction: {x} # y'
    assert yaml.safe_load(yaml_text.document({text: [text, {"a": text}]})) == {text: [text, {"a": text}]}

    step, digest = ci_steps.of_rule(rule("oidc", only_name="dns")), publish_script.newest().digest
    assert f'"$LARDER_URL/publish/{digest}.sh"\necho "{digest}  publish.sh" | sha256sum -c &&' in step.text
    assert step.text.endswith('sh publish.sh acme/dns "${TAG#v}"')
    assert f"with the audience {HOST}" in step.text


def test_the_authority_of_larder_is_trusted_if_it_is_its_own(monkeypatch):
    monkeypatch.setattr("apps.snippets.client_setup.own_authority", lambda: {"pem": "", "fingerprint": ""})
    for step in ci_steps.of_namespace("acme"):
        assert "curl --cacert larder-ca.pem -fsSo publish.sh" in step.text
        assert re.search(r"LARDER_CA_FILE(: |=)larder-ca.pem", step.text)
        assert any("larder-ca.pem" in note for note in step.notes)
    assert "export LARDER_CA_FILE=larder-ca.pem" in publish_script.any_shell("acme/vpc/aws", "1.0.0").text


TEXTS = st.characters(exclude_categories=["Cs"])
SCALARS = st.one_of(
    st.text(TEXTS, max_size=12), st.integers(-5, 5), st.booleans(), st.none(), st.sampled_from(("1.0", "~", "y"))
)
KEYS = st.text(TEXTS, min_size=1, max_size=5).filter(lambda key: key != "on")
DOCUMENTS = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).filter(
                lambda found: not any(isinstance(one, list) for one in found)
            ),
            st.dictionaries(KEYS, inner, min_size=1, max_size=3),
        ),
        max_leaves=6,
    ),
    min_size=1,
    max_size=3,
)


@given(DOCUMENTS)
def test_what_is_written_is_read_as_the_same(document):
    assert yaml.safe_load(yaml_text.document(document)) == document


# --- Pages -----------------------------------------------------------------------------------------------------------


def copied(answer):
    return [html.unescape(one) for one in re.findall(r"<code data-copy-text>(.*?)</code>", answer.text, re.DOTALL)]


def test_pages_have_the_files_of_a_namespace_for_publishers_alone_and_those_of_each_rule(
    browser_of, alice, bob, dora, rule
):
    page = browser_of(alice).get("/namespaces/acme/ci")
    assert copied(page) == [one.text for one in ci_steps.of_namespace("acme")]
    assert publish_script.newest().digest in page.text
    assert "An owner adds a trusted publisher first" in page.text
    assert browser_of(bob).get("/namespaces/acme/ci").status_code == 403
    owner = browser_of(dora)
    assert 'href="/namespaces/acme/trusted-publishers"' in owner.get("/namespaces/acme/ci").text

    rule("github", only_name="vpc/aws")
    rule("buildkite", only_name="dns")
    github, buildkite = sorted(copied(owner.get("/namespaces/acme/trusted-publishers")), key=lambda one: "$$" in one)
    assert "sh publish.sh acme/vpc/aws" in github
    assert "environment: production" in github
    assert "sh publish.sh acme/dns" in buildkite
    assert "$$LARDER_URL" in buildkite


def test_the_lines_of_the_help_are_those_of_the_page(client, db):
    [fence] = [one for one in documents.fences("docs/publishing-token.md") if one.language == "sh"]
    shown = publish_script.any_shell("acme/vpc/aws", "1.2.0").text.splitlines()
    assert fence.text.splitlines()[1:4] == [line.removesuffix(" &&") for line in shown[1:4]]
    assert json.dumps(publish_script.newest().digest)[1:-1] in client.get("/how-to-use").text
