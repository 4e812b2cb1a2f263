"""Run git or ssh as a child that can do little: its files, ports, memory, time and output are limited (`launcher`)."""

import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from apps.contrib.git.remote.access import GitFailed
from apps.lib.process import niceness, outside
from apps.lib.sandbox import interpreters
from apps.lib.sandbox.parent import Patience
from apps.lib.sandbox.powers import Powers

# What git, ssh, curl and the C library read. Not all of /etc and /var: Larder's own settings may be there.
_READABLE = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/gnutls",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/dev/urandom",
)
_STEP = 64 * 1024
_MAX_ERROR_BYTES = 64 * 1024
_MEMORY_BYTES = 2 * 1024 * 1024 * 1024
_MAX_DESCRIPTORS = 256
_END_SECONDS = 10.0
_SYSTEM_FOLDERS = "/usr/local/bin:/usr/bin:/bin"


Process = subprocess.Popen[bytes]
Output = Generator[bytes, None, "Ended"]


class Clock(Patience):
    """The seconds of waiting for servers and children that are left. It raises GitFailed."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count all the time inside, such as that of a request. Raises GitFailed if it was more than is left."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.left -= time.monotonic() - began
        if self.left <= 0:
            raise self.failure()

    def failure(self) -> GitFailed:
        return GitFailed(
            "too_slow",
            f"The server did not finish within {self.seconds:g} seconds.",
            hint="Try again later. If the repository is large, check what its commits contain.",
        )


@dataclass(frozen=True, slots=True)
class Command:
    """`words`: the program by its name, and its arguments, which other users of the host can see.

    `folder`: the only one that it may write. `port`: of the only TCP connections that it may open; 0 for none.
    """

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    port: int = 0
    file_bytes: int = 0
    stdin: bytes | None = b""  # None: written later


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is 128 and more for a signal. `errors`: the beginning of what the program wrote there."""

    code: int
    errors: str


def program(name: str) -> str:
    """Return where it is installed. Raises GitFailed."""
    found = shutil.which(name) or shutil.which(name, path=_SYSTEM_FOLDERS)
    if found is None:
        raise GitFailed(
            "no_program",
            f"The program {name} is not installed on this worker.",
            hint="An operator can install git and openssh-client.",
        )
    return found


@contextmanager
def started(command: Command, clock: Clock) -> Iterator[Process]:
    """Start it, and kill it and all it started at the end. Its input stays open if the command has none."""
    outside.give_back()
    name, *arguments = command.words
    path = program(name)
    prefix = str(Path(path).resolve().parent.parent)
    powers = Powers(
        seconds=max(1, int(clock.left)),
        memory_bytes=_MEMORY_BYTES,
        descriptors=_MAX_DESCRIPTORS,
        file_bytes=command.file_bytes,
        may_fork=True,
        readable=[*_READABLE, *([] if prefix == "/" else [prefix])],
        writable=["/dev/null", str(command.folder)],
        port=command.port,
    )
    orders = {"words": [path, *arguments], "powers": asdict(powers), "niceness": niceness.wanted.get()}
    environment = {
        "PATH": f"{Path(path).parent}:{_SYSTEM_FOLDERS}",
        "HOME": str(command.folder),
        "TMPDIR": str(command.folder),
        "LC_ALL": "C",
        **command.environment,
    }
    process = interpreters.started(
        "apps.contrib.git.remote.launcher",
        orders,
        environment=environment,
        folder=str(command.folder),
        files=subprocess.PIPE,
    )
    try:
        if process.stdin is not None and command.stdin is not None:
            with suppress(BrokenPipeError), process.stdin as stdin:
                stdin.write(command.stdin)  # less than a pipe's buffer
        yield process
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(_END_SECONDS)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def stream(command: Command, clock: Clock, max_bytes: int) -> Output:
    """Yield what the program writes, and return how it ended. Closing the generator kills it, and all it started.

    Raises GitFailed for more than `max_bytes`, and when the clock has run down.
    """
    with started(command, clock) as process:
        errors = yield from _output(process, clock, max_bytes)
        try:
            with clock.running():
                code = process.wait(max(0.1, clock.left))
        except subprocess.TimeoutExpired:
            raise clock.failure() from None
        return Ended(code, errors.decode("utf-8", "replace"))


def _output(process: Process, clock: Clock, max_bytes: int) -> Generator[bytes, None, bytes]:
    """Yield standard output; return the beginning of standard error."""
    errors, seen = bytearray(), 0
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, pipe is process.stdout)
        while selector.get_map():
            for key, _ in clock.select(selector):
                piece = os.read(key.fd, _STEP)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data:
                    seen += len(piece)
                    if seen > max_bytes:
                        raise GitFailed(
                            "too_large",
                            f"The repository sent more than {max_bytes:,} bytes where fewer are expected.",
                            is_final=True,
                        )
                    yield piece
                else:
                    errors += piece[: _MAX_ERROR_BYTES - len(errors)]
    return bytes(errors)


def run(command: Command, clock: Clock, max_bytes: int) -> tuple[bytes, Ended]:
    """Return all that the program writes, and how it ended. Raises GitFailed as `stream`."""
    pieces, output = stream(command, clock, max_bytes), bytearray()
    while True:
        try:
            output += next(pieces)
        except StopIteration as end:
            ended: Ended = end.value
            return bytes(output), ended
