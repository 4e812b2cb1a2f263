"""A misspelt LARDER_ variable is named at the start and by doctor, with the nearest name that exists."""

import os
import re
from io import StringIO

import pytest

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
    assert len(NAMES) > 100
    environment(**{misspelt(name): "1" for name in NAMES})

    assert variables.unknown() == {misspelt(name): name for name in NAMES}


def test_what_larder_and_others_read_is_not_named(environment):
    environment(**dict.fromkeys(NAMES, "1"), LARDER_TOKEN="x", LARDER_URL="x", LARDER_TEST_DATABASE="postgres")

    assert variables.unknown() == {}


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
    texts = [path.read_text() for path in paths if path.suffix not in (".png", ".webp", ".pyc", ".woff2")]
    found = of_what_is_there(name for text in texts for name in NAMED.findall(text))
    assert len(found) > 100
    # Beginnings of names, which templates and sentences have.
    beginnings = {name for name in found if any(other.startswith(f"{name}_") for other in NAMES)}
    assert {name for name in found - beginnings - set(NAMES) if not variables.OF_OTHERS.fullmatch(name)} == set()


def test_settings_read_all_others_at_the_start():
    assert documents.configuration()
    assert set(NAMES) - env.names_read <= set(variables.READ_LATER) <= set(NAMES)
    assert [name for name in NAMES if variables.OF_OTHERS.fullmatch(name)] == []
