"""The Larders that tests share: a whole one is dear to start. xdist sends all tests of one to the same worker.

Tests in them use namespaces and people of their own, and leave the processes and the settings as they were. What needs
another Larder calls `start_live`, and says why. `-v` shows who started one, and how long the tests of each took.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests import dumps, postgres, stack
from tests import live as lives
from tests.builders import ci_issuer
from tests.builders.git_servers import Site, git_site
from tests.live import Live, start_live
from tests.needs import needs
from tests.progress import group_of, path_of

# In the order in which a test that uses two is sent to one. Those of a folder are in its conftest.py.
SHARED = ("on_postgres", "example", "deadly", "four_processes", "loopback", "plain", "impatient", "live")
MAX_OF_A_PART = 75  # tests of a file that share what it makes
LOOPBACK = "127.0.0.0/8"
# Where a worker of `impatient` dies, once each: at versions that no other test there publishes.
STATING = "after:state@0.7.0"
GIT_POINTS = (
    "before:git-fetch",
    "after:git-fetch",
    "after:reserve",
    "after:receive",
    "after:accept",
    "after:git-publish",
    "after:git-link",
)
GIT_VERSIONS = {f"9.{number}.0": point for number, point in enumerate(GIT_POINTS)}
GIT_DEATHS = ("after:git-list", *(f"{point}@{version}" for version, point in GIT_VERSIONS.items()))
DEATHS = (STATING, *GIT_DEATHS)


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A whole Larder of its own: `manage.py up` on a free port, with its data in a temporary folder."""
    with start_live(tmp_path_factory.mktemp("live"), why="shared", LARDER_MCP="on") as larder:
        yield larder


@pytest.fixture(scope="session")
def git_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Whom the `loopback` Larder trusts; tests have repositories of their own there."""
    with git_site(tmp_path_factory.mktemp("git")) as site:
        yield site


@pytest.fixture(scope="session")
def ci_system() -> Iterator[ci_issuer.Issuer]:
    """Whose id tokens the `loopback` Larder accepts."""
    keys = {algorithm: ci_issuer.new_key(algorithm) for algorithm in ci_issuer.ALGORITHMS}
    with ci_issuer.running(keys) as found:
        yield found


@pytest.fixture(scope="session")
def loopback(tmp_path_factory: pytest.TempPathFactory, git_server: Site, ci_system: ci_issuer.Issuer) -> Iterator[Live]:
    """It may ask registries, Git servers and a CI system on this machine."""
    variables = {
        "LARDER_OUTGOING_ALLOW": f"mirror={LOOPBACK} git={LOOPBACK}",
        "LARDER_OUTGOING_CA_FILE": git_server.ca_file,
        "LARDER_TRUSTED_ISSUERS": ci_system.url,
    }
    with start_live(tmp_path_factory.mktemp("loopback"), why="shared", **variables) as larder:
        yield larder


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """It speaks HTTP without TLS."""
    with start_live(tmp_path_factory.mktemp("plain"), why="shared", LARDER_TLS="off") as larder:
        yield larder


@pytest.fixture(scope="session")
def impatient(tmp_path_factory: pytest.TempPathFactory, git_server: Site) -> Iterator[Live]:
    """Its jobs are another's after five seconds without a sign of life: tests may kill its worker, and DEATHS does."""
    variables = {
        "LARDER_JOB_LEASE_SECONDS": "5",
        "LARDER_LIMITS": "job_attempts=50",
        "LARDER_CRASH_AT": ",".join(DEATHS),
        "LARDER_OUTGOING_ALLOW": f"mirror={LOOPBACK} git={LOOPBACK}",
        "LARDER_OUTGOING_CA_FILE": git_server.ca_file,
    }
    with start_live(tmp_path_factory.mktemp("impatient"), why="shared", **variables) as larder:
        yield larder


@pytest.fixture(scope="session")
@needs("postgres")
def on_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Its database is PostgreSQL, for tests of each page and list: what they ask differs there, and is slower."""
    variables = {} if stack.IS_FULL else {"LARDER_DATABASE_URL": dumps.fill(postgres.start())}
    with start_live(tmp_path_factory.mktemp("postgres"), why="shared", **variables) as larder:
        yield larder


# --- Which worker has them, and what they cost ------------------------------------------------------------------------


class Costs:
    """Seconds of the tests of each Larder, and of each start; with xdist, of all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.groups: dict[str, str] = {}
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.starts: list[tuple[str, float]] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.groups = {path_of(item.nodeid): group for item in session.items if (group := group_of(item))}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        path, _, name = report.nodeid.partition("::")
        group = name.rpartition("@")[2] if "@" in name else self.groups.get(path, "")
        if group and not isinstance(report, pytest.SubtestReport):
            self.seconds[group] += report.duration

    def pytest_sessionfinish(self) -> None:
        self.starts += lives.STARTS
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["larders"] = self.starts

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self.starts += getattr(node, "workeroutput", {}).get("larders", [])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.starts:
            return
        took = sum(seconds for _, seconds in self.starts)
        terminalreporter.write_line(f"whole Larders: {len(self.starts)} were started, in {took:.0f} s")
        if self.config.get_verbosity() > 0:
            for name, seconds in sorted(self.seconds.items(), key=lambda one: -one[1]):
                terminalreporter.write_line(f"{seconds:7.1f} s  tests of {name}")
            for why, seconds in self.starts:
                terminalreporter.write_line(f"{seconds:7.1f} s  start: {why}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs(config))
    config.pluginmanager.register(Parts())


def send_with(item: pytest.Item, group: str) -> None:
    """To the worker that runs the group, unless it has one. xdist 3.8 writes it where pytest 9.2 no longer looks."""
    if group_of(item):
        return
    item.add_marker(pytest.mark.xdist_group(group))
    if item.config.getoption("loadgroup", default=False):
        item._id = item.id.parse(f"{item.nodeid}@{group}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before xdist's own, which reads the groups."""
    for item in items:
        if item.get_closest_marker("live"):
            # The tests that share a Larder share a worker; others start their own, a file at a time.
            asked = getattr(item, "fixturenames", ())
            send_with(item, next((name for name in SHARED if name in asked), item.path.stem))


class Parts:
    """Registered by itself, after the marks have selected."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Tests are dealt out one by one: each worker would make what the file shares. Long files have several parts,
        or one worker would be busy with the last of them while the others have nothing to do.
        """
        alone = [item for item in items if not group_of(item) and any(made_for_a_file(item))]
        count, seen = Counter(path_of(item.nodeid) for item in alone), Counter[str]()
        for item in alone:
            path = path_of(item.nodeid)
            parts = math.ceil(count[path] / MAX_OF_A_PART)
            send_with(item, f"{path}-{seen[path] * parts // count[path]}")
            seen[path] += 1


def made_for_a_file(item: pytest.Item) -> Iterator[pytest.FixtureDef[Any]]:
    """Yield the fixtures of the test that are made once for its file."""
    found = item._fixtureinfo.name2fixturedefs.values() if isinstance(item, pytest.Function) else ()
    return (definitions[-1] for definitions in found if definitions[-1].scope == "module")
