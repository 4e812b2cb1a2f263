"""Runs a command under what the units of deploy/systemd forbid, where no systemd runs.

    python -m tests.confined larder-web manage.py web

It enforces SystemCallFilter, SystemCallErrorNumber, RestrictAddressFamilies (by seccomp), MemoryDenyWriteExecute (by a
switch of the kernel, from Linux 6.3 on) and NoNewPrivileges. What needs a mount or another user is for systemd alone.
"""

import ctypes
import errno
import os
import shutil
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

UNITS = Path(__file__).resolve().parent.parent / "deploy" / "systemd"
_PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE, _MDWE_REFUSE_EXEC_GAIN = 38, 65, 1
_ALLOW, _ERRNO, _EQUAL = 0x7FFF0000, 0x00050000, 4


class _Comparison(ctypes.Structure):
    """libseccomp's scmp_arg_cmp."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("unused", ctypes.c_uint64),
    )


def directives(unit: str, *optional: str) -> dict[str, list[str]]:
    """The [Service] of a unit with what is dropped in; each name has a line for each time it is written."""
    found: dict[str, list[str]] = {}
    files = [UNITS / f"{unit}.service", *sorted((UNITS / "larder-.service.d").glob("*.conf"))]
    for path in [*files, *(UNITS / "optional" / f"{name}.conf" for name in optional)]:
        section = path.read_text().split("[Service]")[1].split("\n[")[0]
        for line in section.splitlines():
            name, _, value = line.partition("=")
            if value:
                found.setdefault(name, []).append(value)
            elif line and not line.startswith("#"):
                found[name] = []  # an empty value takes the earlier ones back
    return found


def is_possible() -> bool:
    """systemd-analyze has the lists of system calls; its package brings libseccomp."""
    return shutil.which("systemd-analyze") is not None


@cache
def calls(group: str) -> frozenset[str]:
    """The system calls of a group such as @system-service."""
    if not group.startswith("@"):
        return frozenset({group})
    said = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    words = [line.strip() for line in said.stdout.splitlines()[1:] if line.strip() and "#" not in line]
    return frozenset(call for word in words for call in calls(word))


def allowed(filters: list[str]) -> set[str]:
    found: set[str] = set()
    for line in filters:
        named = {call for group in line.lstrip("~").split() for call in calls(group)}
        found = found - named if line.startswith("~") else found | named
    return found


def confine(service: dict[str, list[str]]) -> None:
    """There is no way back: for a process that then runs the command."""
    libc, seccomp = ctypes.CDLL(None, use_errno=True), ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    refusal = getattr(errno, service["SystemCallErrorNumber"][-1])
    rules = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_ERRNO | refusal)))
    for name in sorted(allowed(service["SystemCallFilter"])):
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number < 0:
            continue  # of another architecture
        if name != "socket":
            seccomp.seccomp_rule_add(rules, _ALLOW, number, 0)
            continue
        for family in service["RestrictAddressFamilies"][-1].split():
            only = _Comparison(0, _EQUAL, getattr(socket, family).value, 0)
            seccomp.seccomp_rule_add_array(rules, _ALLOW, number, 1, ctypes.byref(only))
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if service["MemoryDenyWriteExecute"] == ["yes"] and libc.prctl(_PR_SET_MDWE, _MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
        print("NOT CONFINED by MemoryDenyWriteExecute: this kernel has no such switch", file=sys.stderr)  # noqa: T201
    if code := seccomp.seccomp_load(rules):
        raise OSError(-code, "seccomp_load")


if __name__ == "__main__":
    confine(directives(*sys.argv[1].split("+")))
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])  # noqa: S606
