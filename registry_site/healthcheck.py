"""Health check of a container: `python -m registry_site.healthcheck` exits with 0 if its process is well, else 1.

`web`, the default: the server answers. `worker`, `beat`: the process went round its loop within the last minute.
`ready`: the server at LARDER_LISTEN can answer and warns of nothing; what is wrong is printed.
Without Django's settings, which would take seconds.
"""

import http.client
import json
import ssl
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path

from registry_site import env
from registry_site.server import pulse
from registry_site.startup.certificates import Served


@dataclass(frozen=True)
class Answer:
    """`status` is 0 without an answer."""

    status: int = 0
    parts: dict[str, str] = field(default_factory=dict)


def ask(path: str, *, listen: tuple[str, int], public_host: str, files: Served | None) -> Answer:
    """GET a health page on the listening address, which need not be the public one."""
    host, port = env.WILDCARDS.get(listen[0], listen[0]), listen[1]
    try:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        if files is not None:
            context = ssl.create_default_context(cafile=files.ca)
            if files.ca is None:
                # The operator's certificate is for the public name, and this asks on the loopback.
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            connection = http.client.HTTPSConnection(host, port, timeout=5, context=context)
        connection.request("GET", path, headers={"Host": public_host})
        response = connection.getresponse()
        body = json.loads(response.read() or b"{}")
        return Answer(response.status, body.get("parts", {}))
    except (OSError, ValueError, http.client.HTTPException):
        return Answer()


def ask_this_server(path: str) -> Answer:
    is_plain = env.text("LARDER_TLS", env.TLS) == "off"
    # Without a CA no certificate is checked, which is enough on the loopback.
    files = None if is_plain else Served(Path(), Path())
    listen = env.address("LARDER_LISTEN", env.LISTEN)
    return ask(path, listen=listen, public_host="localhost", files=files)


def answers() -> bool:
    return ask_this_server("/healthz").status == HTTPStatus.OK


def is_ready() -> bool:
    answer = ask_this_server("/readyz")
    for part, state in answer.parts.items():
        sys.stdout.write(f"{part}: {state}\n")
    return answer.status == HTTPStatus.OK and set(answer.parts.values()) == {"ok"}


MODES: dict[str, Callable[[], bool]] = {
    "web": answers,
    "worker": partial(pulse.is_recent, "worker"),
    "beat": partial(pulse.is_recent, "beat"),
    "ready": is_ready,
}

if __name__ == "__main__":
    parser = ArgumentParser(prog="python -m registry_site.healthcheck")
    parser.add_argument("mode", nargs="?", choices=MODES, default="web")
    sys.exit(not MODES[parser.parse_args().mode]())
