"""Health check of the container: `python -m registry_site.healthcheck` exits with 0 if the web server answers, else 1.

Without Django's settings, which would take seconds.
"""

import http.client
import json
import ssl
import sys
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from registry_site import env
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


def answers() -> bool:
    is_plain = env.text("LARDER_TLS", env.TLS) == "off"
    # Without a CA no certificate is checked, which is enough on the loopback.
    files = None if is_plain else Served(Path(), Path())
    listen = env.address("LARDER_LISTEN", env.LISTEN)
    return ask("/healthz", listen=listen, public_host="localhost", files=files).status == HTTPStatus.OK


if __name__ == "__main__":
    sys.exit(not answers())
