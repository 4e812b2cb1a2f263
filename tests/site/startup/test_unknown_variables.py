"""A misspelt LARDER_ variable is named at the start and by doctor, with the nearest name that exists."""

import os
import re
from io import StringIO
from ipaddress import ip_network

import pytest
from django.core.exceptions import ImproperlyConfigured

from registry_site import env
from registry_site.management import process
from registry_site.management.process import ProcessCommand
from registry_site.operations import doctor
from registry_site.startup import checks, variables
from tests import documents
from tests.house import sources
from tests.house.test_configuration import documented, of_what_is_there
from tests.rows import for_each_row

NAMES = sorted(name for name in documented() if name.startswith("LARDER_"))
TEN_ONE = (ip_network("10.1.0.0/16"),)
OLD_NAMES = "upgrade-from-development.md"  # the page that tells them
NAMED = re.compile(r"\bLARDER_[A-Z0-9_]*[A-Z0-9]\b")


@pytest.fixture
def environment(monkeypatch):
    """`environment(LARDER_X="y")`: these and none of this machine's."""

    def only(**variables):
        for name in [name for name in os.environ if name.startswith("LARDER_")]:
            monkeypatch.delenv(name)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return only


def misspelt(name):
    """Without a letter in the middle, or with two letters exchanged: what is no variable either."""
    for at in range(max(8, len(name) // 2 + 2), len(name) - 1):
        swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
        for one in (name[:at] + name[at + 1 :], swapped):
            if one not in NAMES and not variables.OF_OTHERS.fullmatch(one):
                return one
    raise AssertionError(name)


def test_every_variable_that_is_misspelt_is_named_with_the_right_one(environment):
    assert len(NAMES) > 70
    environment(**{misspelt(name): "1" for name in NAMES})

    assert variables.unknown() == {misspelt(name): name for name in NAMES}


def test_what_larder_and_others_read_is_not_named(environment):
    environment(**dict.fromkeys(NAMES, "1"), LARDER_TOKEN="x", LARDER_URL="x", LARDER_TEST_DATABASE="postgres")

    assert variables.unknown() == {}


def test_an_old_name_is_read_as_before_and_named_with_the_new_one(environment):
    environment(LARDER_JSON_MAX_BYTES="4096", LARDER_OUTGOING_ALLOW="10.1.0.0/16", LARDER_JSON_MAX_BYTE="1")
    assert (env.limit("json_max_bytes", 1), env.way_out("mirror", allow="LARDER_NETS")["allow"]) == (4096, TEN_ONE)
    found = {one.msg: one.hint for one in checks.variables_are_known(None)}

    assert found.pop("LARDER_JSON_MAX_BYTES is an old name, which Larder still reads.") == (
        "Set json_max_bytes of LARDER_LIMITS instead."
    )
    assert list(found.values()) == ["Did you mean json_max_bytes of LARDER_LIMITS?"]


@for_each_row(
    ("variables", "said"),
    [
        ({"LARDER_JSON_MAX_BYTES": "1", "LARDER_LIMITS": "json_max_bytes=2"}, "both are set, and differ"),
        ({"LARDER_WEBHOOK_ALLOW": "10.0.0.0/8", "LARDER_OUTGOING_ALLOW": "webhooks=10.1.0.0/16"}, "both are set"),
        ({"LARDER_LIMITS": "json_max_byte=2"}, "has no key 'json_max_byte': expected json_max_bytes"),
        ({"LARDER_LIMITS": "json_max_bytes=2 json_max_bytes=3"}, "each key once"),
        ({"LARDER_LIMITS": "json_max_bytes"}, "expected key=value words"),
        ({"LARDER_OUTGOING_PROXY": "webhook=http://proxy.acme.example"}, "has no key 'webhook': expected webhooks"),
    ],
)
def test_what_two_names_or_keys_cannot_mean_together_stops_the_start(environment, variables, said):
    environment(**variables)
    with pytest.raises(ImproperlyConfigured, match=said):
        read_some()


def test_words_for_one_purpose_replace_those_for_all(environment):
    environment(
        LARDER_OUTGOING_ALLOW="10.2.0.0/16 webhooks=10.1.0.0/16", LARDER_OUTGOING_PROXY="http://p:1 webhooks=off"
    )

    assert read_some() == {"allow": TEN_ONE, "ca_file": "", "proxy": ""}
    assert env.way_out("mirror") == {"allow": (ip_network("10.2.0.0/16"),), "ca_file": "", "proxy": "http://p:1"}


def read_some():
    env.limit("json_max_bytes", 1)
    found = env.way_out("webhooks", allow="LARDER_WEBHOOK_ALLOW")
    env.check_keys()
    return found


def test_what_kubernetes_sets_for_services_is_not_named(environment, monkeypatch):
    links = {"LARDER_SERVICE_HOST": "10.0.0.1", "LARDER_SERVICE_PORT_HTTPS": "443", "LARDER_PORT_443_TCP_ADDR": "x"}
    links |= {"LARDER_WEB_SERVICE_HOST": "10.0.0.2", "LARDER_WEB_PORT": "tcp://10.0.0.2:443"}
    environment(**links, LARDER_WEB_PORCESSES="2")

    assert variables.unknown() == {"LARDER_WEB_PORCESSES": "LARDER_WEB_PROCESSES"}


def test_a_name_that_is_like_none_is_named_alone(environment):
    environment(LARDER_QQQQ="1")

    [warning] = checks.variables_are_known(None)
    assert (warning.id, warning.hint) == ("larder.W030", "docs/configuration.md lists every variable.")


@for_each_row("parent", [None])
def test_it_is_printed_at_the_start_of_a_process_and_by_doctor(environment, monkeypatch, parent, db):
    class Command(ProcessCommand):
        def run(self, **_):
            """Start nothing."""

    environment(LARDER_WEB_THREDS="4")
    for name in ("bootstrap.require_secret_key", "schema.require", "shared_keys.compare_secret_key"):
        module, _, function = name.partition(".")
        monkeypatch.setattr(getattr(process, module), function, lambda: None)
    monkeypatch.setattr(process, "give_up_connections", lambda: None)
    said = StringIO()
    Command(stderr=said).handle(parent=parent)

    assert "LARDER_WEB_THREDS is not a Larder variable and has no effect." in said.getvalue()
    assert "Did you mean LARDER_WEB_THREADS?" in said.getvalue()
    assert ("warn", "LARDER_WEB_THREDS is not a Larder variable and has no effect.") in {
        (finding.state, finding.found) for finding in doctor.configuration()
    }


def test_every_other_name_that_is_written_down_is_said_to_be_of_others():
    """In documents, deployments, scripts and the Makefile, and what programs of the tests read."""
    folders = ("docs", "deploy", ".ci", "bin", "apps/snippets")
    paths = [path for folder in folders for path in (sources.CHECKOUT / folder).rglob("*") if path.is_file()]
    paths += [
        sources.CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "compose.production.yaml")
    ]
    is_read = lambda path: path.suffix not in (".png", ".webp", ".pyc", ".woff2") and path.name != OLD_NAMES  # noqa: E731
    texts = [path.read_text() for path in paths if is_read(path)]
    found = of_what_is_there(name for text in texts for name in NAMED.findall(text))
    assert len(found) > 70
    # Beginnings of names, which templates and sentences have.
    beginnings = {name for name in found if any(other.startswith(f"{name}_") for other in NAMES)}
    others = found - beginnings - set(NAMES)
    assert {name for name in others if not variables.OF_OTHERS.fullmatch(name)} == set()


def test_settings_read_all_others_at_the_start():
    assert documents.configuration()
    assert set(NAMES) - env.names_read <= set(variables.READ_LATER) <= set(NAMES)
    assert [name for name in NAMES if variables.OF_OTHERS.fullmatch(name)] == []
