"""Programs that tests run in the sandboxed child: `request["do"]` names the function."""

import ctypes
import os
import resource
import signal
import sys
import time
from typing import Any

from apps.lib.sandbox.frames import emit
from apps.lib.sandbox.positioned import open_positioned

PREPARED: list[str] = []


def prepare() -> None:
    PREPARED.append("before the limits")


def main(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    answer: dict[str, Any] = globals()[request["do"]](request, stdin)
    return answer


def tell(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """The surroundings of the child, as far as it can see them."""
    return {
        "asked": request["text"],
        "read": open_positioned(stdin).read().decode(),
        "prepared": PREPARED,
        "environment": sorted(os.environ),
        "path": sys.path,
        "pid": os.getpid(),
    }


def parent(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    return {"parent": os.getppid()}


def niceness(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    return {"niceness": os.nice(0)}


def limits(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    hard = {
        "memory": resource.RLIMIT_AS,
        "files": resource.RLIMIT_NOFILE,
        "written": resource.RLIMIT_FSIZE,
        "core": resource.RLIMIT_CORE,
    }
    told: dict[str, Any] = {name: resource.getrlimit(kind)[1] for name, kind in hard.items()}
    no_new_privileges = ctypes.CDLL(None).prctl(39, 0, 0, 0, 0)  # PR_GET_NO_NEW_PRIVS
    told["gains_no_rights"] = no_new_privileges
    return told | {"seconds": resource.getrlimit(resource.RLIMIT_CPU)[0], "used": time.process_time()}


def attempt(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    try:
        exec(request["code"], {"os": os})  # noqa: S102 - the code is the test's
    except (OSError, ImportError) as error:
        return {"failed": type(error).__name__}
    return {"failed": ""}


def descriptors(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    return {"open": [number for number in range(1000) if _is_open(number)]}


def become_nobody(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """The kernel exempts root from the limit on processes, so be somebody else before trying."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    return attempt({"code": "os.fork()"}, stdin)


def break_down(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    raise ValueError("a defect of ours")


def sleep(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    time.sleep(60)
    return {}


def burn(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    while True:
        pass


def fill(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    return {"text": "x" * (1 << 30)}


def abort(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    os.abort()


def crash(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    ctypes.string_at(0)
    return {}


def kill(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    os.kill(os.getpid(), request.get("signal", signal.SIGKILL))
    return {}


def leave(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    os._exit(request["code"])


def scribble(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    os.write(1, request["text"].encode())
    return {}


def scribble_for_ever(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    while True:
        os.write(1, b"D\xff\xff\xff\xff" + bytes(1 << 16))


def pour(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    """Output without end where `pieces` is not given."""
    count = 0
    while count != request.get("pieces"):
        emit(count.to_bytes(4, "big") * 10_000)
        count += 1
    return {"pieces": count}


def pour_one(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    emit(b"x" * request["size"])
    return {}


def say(request: dict[str, Any], stdin: int) -> dict[str, Any]:
    return {"text": "x" * request["size"]}


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
