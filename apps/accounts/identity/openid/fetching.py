"""Requests to identity providers: bounded in time and size, without redirects, proxies and `.netrc`."""

import socket
import ssl
from contextlib import suppress
from http import HTTPStatus
from threading import Timer
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection

MAX_SECONDS = 5.0
MAX_BYTES = 1024 * 1024
_PIECE = 64 * 1024


class AnswerRefused(requests.RequestException):
    """The answer is too large or leads elsewhere. Callers of allauth handle its base class."""


class _Deadline:
    """Ends the exchange when its time is over: the time-outs of requests begin again with every byte.

    Not by `self.sock` and `close`: http.client lets go of the socket, and closes, before the answer is read. A timer of
    an exchange that ended in time finds a closed socket.
    """

    sock: socket.socket

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]  # of the connection beside it
        timer = Timer(MAX_SECONDS, _cut, [self.sock])
        timer.daemon = True
        timer.start()


def _cut(sock: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of SSLSocket, which another thread reads


class _Plain(_Deadline, HTTPConnection):
    pass


class _Secure(_Deadline, HTTPSConnection):
    pass


class _Adapter(HTTPAdapter):
    """Trusts what Python trusts: SSL_CERT_FILE and the system's authorities, besides those that requests brings."""

    def init_poolmanager(self, *arguments: Any, **keywords: Any) -> None:
        super().init_poolmanager(*arguments, ssl_context=ssl.create_default_context(), **keywords)
        pools = self.poolmanager.pool_classes_by_scheme
        kinds = {"http": _Plain, "https": _Secure}
        self.poolmanager.pool_classes_by_scheme = {
            scheme: type(f"Bounded{pool.__name__}", (pool,), {"ConnectionCls": kinds[scheme]})
            for scheme, pool in pools.items()
        }


class Session(requests.Session):
    """For one exchange; allauth uses it as well."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.mount("https://", _Adapter())
        self.mount("http://", _Adapter())

    def send(self, request: requests.PreparedRequest, **keywords: Any) -> requests.Response:
        response = super().send(
            request, **keywords | {"stream": True, "timeout": MAX_SECONDS, "allow_redirects": False}
        )
        try:
            return _read(response)
        except OSError as error:  # of the socket, where urllib3 does not wrap it
            raise requests.ConnectionError(str(error)) from None
        finally:
            response.close()


def _read(response: requests.Response) -> requests.Response:
    if response.is_redirect:
        raise AnswerRefused("it leads elsewhere")
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise AnswerRefused(f"it is {response.status_code}")
    body = bytearray()
    for piece in response.iter_content(_PIECE):
        body += piece
        if len(body) > MAX_BYTES:
            raise AnswerRefused(f"it has more than {MAX_BYTES} bytes")
    response._content = bytes(body)  # noqa: SLF001  # where requests keeps a body that was read
    return response


def json_object(url: str, *, access_token: str = "") -> dict[str, Any]:
    """Return the JSON object at the URL. Raises requests.RequestException."""
    headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {access_token}"} if access_token else {})
    with Session() as session:
        response = session.get(url, headers=headers)
    response.raise_for_status()
    try:
        found = response.json()
    except (ValueError, RecursionError):
        found = None
    if response.status_code != HTTPStatus.OK or not isinstance(found, dict):
        raise AnswerRefused("it is no JSON object")
    return found
