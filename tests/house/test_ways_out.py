"""Every way to another service gives the thread's database connection back before it waits."""

import ssl
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock
from urllib.parse import urlsplit

import pytest

from apps.blobs.backends.s3 import open_backend
from apps.jobs import database_availability
from apps.lib.net import fetching
from apps.lib.process import outside
from apps.notify.mail import letters, mailing
from tests import rooms, s3
from tests.postgres import free_port
from tests.rows import for_each_row


class GivenBack(Exception):
    pass


NOWHERE = f"http://127.0.0.1:{free_port()}"


def exchange() -> None:
    fetching.exchange("GET", urlsplit(NOWHERE), headers={}, route=fetching.Route(), seconds=1, max_bytes=1)


def fetch() -> None:
    route = fetching.Route(ssl.create_default_context())
    with fetching.opened("GET", NOWHERE, headers={}, route=route, limits=fetching.Limits()):
        pass


def send_mail() -> None:
    mailing._send([MagicMock(is_given_up=False)])


def ask_storage() -> None:
    open_backend(f"s3://larder?endpoint={NOWHERE}&region=us-east-1").size("sha256/ab/abc")


@for_each_row("way_out", [exchange, fetch, send_mail, ask_storage, *rooms.entries("WAYS_OUT")])
def test_a_way_out_gives_the_connection_back_first(way_out: Callable[[], Any], monkeypatch):
    def give_back() -> None:
        raise GivenBack

    for name, value in s3.KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(letters, "pending", MagicMock())
    monkeypatch.setattr(mailing, "_may_go", lambda _: True)
    monkeypatch.setattr(mailing, "_end", MagicMock())
    monkeypatch.setattr(mailing, "_message", lambda _: MagicMock())
    monkeypatch.setattr(outside, "give_back", give_back)
    with pytest.raises(GivenBack):
        way_out()


def test_the_site_says_how_a_connection_is_given_back(db):
    assert outside.give_back is database_availability.release_connection
