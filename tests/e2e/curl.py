"""One request of curl: what it says of the answer, whose body goes to a file."""

import subprocess
from pathlib import Path
from typing import IO

from tests.live import Live


def curl(
    live: Live,
    to: Path,
    path: str,
    *flags: str,
    token: str = "",
    shown: str = "%{http_code}",
    body: IO[bytes] | None = None,
) -> tuple[int, list[str]]:
    """curl's exit code, and what it shows of the answer."""
    to.write_bytes(b"")
    sent = ("-H", f"Authorization: Bearer {token}") if token else ()
    words = ("curl", "--silent", "--show-error", "--cacert", str(live.ca_bundle), *sent, "-o", str(to), "-w", shown)
    done = subprocess.run(
        [*words, *flags, live.url + path], stdin=body, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout.split()
