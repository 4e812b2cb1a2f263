"""Ask the web server of this data folder for its health."""

import http.client
import json
import ssl
from dataclasses import dataclass, field

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
        connection = _connect(host, port, files)
        connection.request("GET", path, headers={"Host": public_host})
        response = connection.getresponse()
        body = json.loads(response.read() or b"{}")
        return Answer(response.status, body.get("parts", {}))
    except (OSError, ValueError, http.client.HTTPException):
        return Answer()


def _connect(host: str, port: int, files: Served | None) -> http.client.HTTPConnection:
    if files is None:
        return http.client.HTTPConnection(host, port, timeout=5)
    context = ssl.create_default_context(cafile=files.ca)
    if files.ca is None:
        # The operator's certificate is for the public name, and this asks on the loopback.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=5, context=context)
