"""The Larder of a run, started as a user starts it, and what all parts of a run share."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from bench import references
from bench.load import Server
from tests.live import CHECKOUT, Live, start_live


@dataclass(frozen=True)
class Size:
    modules: int = 10_000
    versions: int = 50
    providers: int = 1_000
    provider_versions: int = 20
    platforms: int = 12
    events: int = 0  # of the audit, beside one for each version
    configurations: int = 0  # that report which versions they use
    repositories: int = 0  # that are polled
    mirrored: int = 0  # providers of other registries
    mirrored_versions: int = 300  # of each

    @classmethod
    def of_versions(cls, versions: int) -> "Size":
        """A registry of so many versions of modules, with as much of all else; 1,000,000 is the size that docs name."""
        return cls(
            modules=versions // 50,
            events=versions * 9,
            configurations=versions // 20,
            repositories=versions // 500,
            mirrored=versions // 2_000,
        )


FULL, SMALL, TINY = Size(), Size(10, 50, 2, 20, 12), Size(3, 2, 1, 2, 2)
TINY_LISTS = replace(TINY, events=9, configurations=3, repositories=2, mirrored=1, mirrored_versions=3)


@dataclass
class Bench:
    """At most one Larder runs at a time, shared by neighbours that want the same one; if tiny, one for all parts."""

    folder: Path  # goes with the run
    seeded: Path  # the folder of the large registry, which a user may keep
    seconds: float = 2.0
    rounds: int = 3
    is_tiny: bool = False
    trials: int = 2000  # of stale answers
    listed_versions: int = 1_000_000  # of the registry whose lists are measured
    database: str = ""  # of that registry; without one a server is started, and goes with the run
    archives: Path | None = None  # real modules to publish
    against: Path | None = None  # another checkout, for the same work in turns
    skipped: list[str] = field(default_factory=list)
    _running: tuple[tuple[bool, bool], Live] | None = None
    _token: tuple[Live | None, str] = (None, "")
    _stack: ExitStack = field(default_factory=ExitStack)

    @property
    def processes(self) -> int:
        return 1 if self.is_tiny else 2

    @property
    def size(self) -> Size:
        return TINY if self.is_tiny else FULL

    def larder(self, *, is_seeded: bool, tls: bool) -> Live:
        wanted = (True, True) if self.is_tiny else (is_seeded, tls)
        if self._running is None or self._running[0] != wanted:
            self.close()
            folder = self.seeded if wanted[0] else self.folder / f"fresh-{tls}"
            size = self.size if wanted[0] else None
            live = self._stack.enter_context(start(folder, tls=wanted[1], size=size, processes=self.processes))
            self._running = wanted, live
        return self._running[1]

    def token(self, live: Live) -> str:
        if self._token[0] is not live:
            self._token = live, live.token()
        return self._token[1]

    def close(self) -> None:
        self._stack.close()
        self._running = None

    def lacks(self, part: str, *programs: str) -> bool:
        """Return whether the part cannot run here, and note it for the report."""
        lacking = references.missing(*programs)
        if lacking:
            self.skipped.append(f"{part}: {' and '.join(lacking)} not on the PATH")
        return bool(lacking)


@contextmanager
def start(
    folder: Path,
    *,
    tls: bool,
    size: Size | None = None,
    processes: int = 2,
    checkout: Path = CHECKOUT,
    port: int = 0,
    **variables: str,
) -> Iterator[Live]:
    """A Larder with so many web processes; filled to `size` unless its folder already is."""
    scheme = {} if tls else {"LARDER_TLS": "off"}
    no_limits = {"LARDER_RATE_PUBLISH": "off", "LARDER_RATE_SEARCH": "off"}
    listen = {"LARDER_LISTEN": f"127.0.0.1:{port}"} if port else {}
    variables = {"LARDER_WEB_PROCESSES": str(processes)} | scheme | listen | no_limits | variables
    with start_live(folder, checkout, why="measured", **variables) as live:
        if size is not None:
            fill(live, size)
        yield live


def fill(live: Live, size: Size) -> None:
    """Raises ValueError for a folder that was filled to another size."""
    marker, wanted = live.data_dir / "seeded.json", asdict(size)
    if not marker.exists():
        script = f"from bench import seeding; seeding.fill({json.dumps(wanted)!r})"
        live.manage("shell", "-v", "0", "-c", script)
    if (found := json.loads(marker.read_text())) != wanted:
        raise ValueError(f"{live.data_dir} holds a registry of {found}: expected {wanted}. Choose another --keep.")


def server_of(live: Live) -> Server:
    return Server(live.url, live.process.pid)
