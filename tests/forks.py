"""A loaded Larder that forks: a fork costs hundredths of a second, a start of `manage.py` more than one.

`python -m tests.forks` runs each command of its standard input, a JSON list a line, and answers with exit status,
output and errors. `python -m tests.forks COUNT` keeps so many workers alive until SIGTERM.
"""

import io
import json
import os
import signal
import sys
import tempfile
from importlib import import_module
from typing import Any, BinaryIO, Never

from registry_site import env

WORKER = ("celery.bin.worker", "celery.apps.worker", "celery.concurrency.thread", "registry_site.server.serving")


def load() -> None:
    """Import what commands import, without a thread or a connection that forks would share."""
    env.use_settings()
    import_module("django").setup()
    # This imports every page and command.
    import_module("django.core.management").call_command("check", stdout=io.StringIO())
    import_module("django.db").connections.close_all()


def run(*arguments: str, output: BinaryIO | None = None, errors: BinaryIO | None = None) -> Never:
    """Run like `manage.py`, in the process that a fork has made."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for file, number in ((output, 1), (errors, 2)):
            if file is not None:
                os.dup2(file.fileno(), number)
        sys.argv = ["manage.py", *arguments]
        import_module("registry_site.startup.command_line").run(sys.argv)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
        print(end.code, file=sys.stderr)  # noqa: T201
    except BaseException:  # noqa: BLE001  # the fork must end here, whatever it met
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def read(file: BinaryIO) -> str:
    file.seek(0)
    return file.read().decode()


def commands() -> None:
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            pid = os.fork() or run(*json.loads(line), output=output, errors=errors)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            print(json.dumps([status, read(output), read(errors)]), flush=True)  # noqa: T201


def workers(count: int) -> None:
    alive: set[int] = set()

    def fork() -> int:
        return os.fork() or run("worker", "--parent", str(os.getppid()))

    def end(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for pid in alive:
            os.kill(pid, signal.SIGTERM)
        for pid in alive:
            os.waitpid(pid, 0)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)  # first: tests may be done before all is loaded
    load()
    for module in WORKER:
        import_module(module)
    import_module("registry_site.celery").app.loader.import_default_modules()
    while True:
        while len(alive) < count:
            alive.add(fork())
        alive.discard(os.wait()[0])


if __name__ == "__main__":
    if sys.argv[1:]:
        workers(int(sys.argv[1]))
    load()
    commands()
