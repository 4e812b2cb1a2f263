"""The first moments of a confined child: it gives up its rights, then becomes git or ssh. Its parent waits for it.

Started by `children` as `python -I -S -c … <orders>`. The orders hold no secret; those are in the environment.
"""

import os
import resource
import signal
from typing import Any

from apps.lib.sandbox import landlock
from apps.lib.sandbox.powers import die_with_parent, drop_privileges, lower

# What git, ssh, curl and the C library read. Not all of /etc and /var: Larder's own settings may be there.
READABLE = (
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
_MAX_FILES = 256
_BY_SIGNAL = 128  # as shells have it


def main(orders: dict[str, Any]) -> None:
    """Start the program, and end as it does. All of the group ends with the worker, also if that is killed."""
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    die_with_parent(orders["parent"], signal.SIGTERM)
    os.nice(orders["niceness"])
    own = os.getpid()
    process = os.fork()
    if not process:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with_parent(own)
        _become(orders)
    for descriptor in range(3):
        os.close(descriptor)  # else nobody sees that the program has closed them
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os._exit(code if code >= 0 else _BY_SIGNAL - code)


def _become(orders: dict[str, Any]) -> None:
    drop_privileges()
    # Not RLIMIT_NPROC: it counts all processes of the user, and git and ssh need some.
    lower(resource.RLIMIT_AS, orders["memory_bytes"])
    lower(resource.RLIMIT_CPU, orders["cpu_seconds"], slack=1)
    lower(resource.RLIMIT_FSIZE, orders["file_bytes"])
    lower(resource.RLIMIT_NOFILE, _MAX_FILES)
    words: list[str] = orders["words"]
    landlock.confine(
        readable=(*READABLE, *orders["readable"]), writable=("/dev/null", *orders["writable"]), port=orders["port"]
    )
    # Python ignores both, and ignored signals stay ignored: git must end when nobody reads, and say what is too large.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    os.execv(words[0], words)  # noqa: S606  # the words are Larder's, without a shell
