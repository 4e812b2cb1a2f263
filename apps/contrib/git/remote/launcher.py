"""The first moments of a confined child: it gives up its rights, then becomes git or ssh. Its parent waits for it.

`children` starts it. The orders hold no secret; those are in the environment.
"""

import os
import signal
from typing import Any

from apps.lib.sandbox.powers import Powers, confine, die_with_parent

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
    confine(Powers(**orders["powers"]))
    # Python ignores both, and ignored signals stay ignored: git must end when nobody reads, and say what is too large.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    words: list[str] = orders["words"]
    os.execv(words[0], words)  # noqa: S606  # the words are Larder's, without a shell
