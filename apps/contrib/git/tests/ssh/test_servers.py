"""Servers that are down, slow, outdated or something else: a clear error on the page, and soon."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.utils import timezone

from apps.contrib.git import host_scanning
from apps.contrib.git.models import GitRepository
from apps.contrib.git.remote import host_keys as scanning
from apps.contrib.git.remote import refs
from apps.contrib.git.tests.conftest import RULES, work_off
from apps.contrib.git.tests.pages.conftest import LIST
from apps.contrib.git.tests.ssh.conftest import NAME, vpc
from apps.jobs.models import Job
from tests import pages
from tests.builders.git_servers import ssh_key
from tests.postgres import free_port
from tests.rows import for_each_row

pytestmark = [pytest.mark.slow, pytest.mark.needs("git", "ssh", "sshd")]
FEW_SECONDS = 2.0
OUTDATED = "has no host key that Larder takes"


def http(client: socket.socket, is_over: threading.Event) -> None:
    client.recv(1000)
    client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def silent(client: socket.socket, is_over: threading.Event) -> None:
    is_over.wait()


def slow_exchange(client: socket.socket, is_over: threading.Event) -> None:
    """Greets as ssh servers do, and then sends its part of the key exchange byte by byte."""
    client.sendall(b"SSH-2.0-slow\r\n")
    client.recv(1000)
    client.sendall((30_004).to_bytes(4, "big") + bytes([4, 20]))  # the length, the padding, and SSH_MSG_KEXINIT
    while not is_over.wait(0.1):
        client.sendall(b"\x00")


@contextmanager
def speaking(speak: Callable[[socket.socket, threading.Event], None]) -> Iterator[int]:
    """Answer each connection so; yield the port. At least one must come."""
    is_over = threading.Event()
    threads: list[threading.Thread] = []

    def answer(client: socket.socket) -> None:
        with client:
            try:
                speak(client, is_over)
            except OSError:
                return

    def accept() -> None:
        while not is_over.is_set():
            try:
                client, _ = server.accept()
            except TimeoutError:
                continue
            threads.append(threading.Thread(target=answer, args=(client,), daemon=True))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        listener = threading.Thread(target=accept, daemon=True)
        listener.start()
        try:
            yield server.getsockname()[1]
        finally:
            is_over.set()
            for one in (listener, *threads):
                one.join(5)
        assert threads


def told_on_the_page(portal, port):
    """Return what the page says where it would show the host keys; nothing is pinned."""
    repository = portal.connected(f"ssh://git@localhost:{port}/{NAME}.git")
    assert (repository.host_keys, repository.host_scan["state"]) == ([], "failed")
    page = pages.text_of(portal.client.get(f"{LIST}/{repository.pk}/key"))
    assert "can the repository" not in page
    GitRepository.objects.update(ended_at=timezone.now())
    return page


def test_a_server_that_is_down_is_named_with_its_port_and_asked_again(portal, serve, call, dora):
    port = free_port()

    assert f"localhost on port {port} showed no ssh host key" in told_on_the_page(portal, port)
    made = call(dora).post(url=f"ssh://git@localhost:{port}/{NAME}.git", rules=RULES)
    assert (made.status_code, made.json()["host_key_scan"]["state"]) == (202, "waiting")
    work_off()
    told = call(dora).get(f"/{made.json()['id']}").json()["host_key_scan"]
    assert (told["state"], told["failure"]["code"]) == ("failed", "unreachable")
    assert "showed no ssh host key" in told["failure"]["message"]

    with serve(port=port) as site:
        page = portal.scan(GitRepository.objects.get(ended_at=None))
        assert all(one in page for one in site.fingerprints)
        assert "can the repository" in page


def test_a_preview_before_the_scan_has_ended_pins_what_the_server_shows(portal, serve, call, dora):
    with serve() as site:
        vpc(site)
        made = call(dora).post(url=site.url(NAME), rules=RULES).json()
        site.authorize(
            call(dora)
            .send("PATCH", f"/{made['id']}", credential={"kind": "deploy_key"})
            .json()["credential"]["public_key"]
        )
        Job.objects.filter(kind=host_scanning.JOB).update(state="cancelled")
        call(dora).post(f"/{made['id']}/preview")
        work_off()

        assert call(dora).get(f"/{made['id']}").json()["host_keys"] == site.fingerprints
        assert call(dora).get(f"/{made['id']}/preview").json()["state"] == "done"


@for_each_row("speak", [http, silent, slow_exchange])
def test_a_port_that_speaks_something_else_or_endlessly_slowly_is_given_up(portal, monkeypatch, speak):
    monkeypatch.setattr(scanning, "_SECONDS", FEW_SECONDS)
    monkeypatch.setattr(scanning, "_CONNECT_SECONDS", 1)
    with speaking(speak) as port:
        page = told_on_the_page(portal, port)

    assert f"localhost on port {port}" in page
    assert "that an ssh server is running there" in page


def test_a_server_that_became_endlessly_slow_fails_the_listing(portal, published, monkeypatch):
    monkeypatch.setattr(refs, "_MAX_SECONDS", FEW_SECONDS)
    with speaking(slow_exchange) as port:
        GitRepository.objects.update(url=f"ssh://git@localhost:{port}/{NAME}.git")

        assert portal.sync(published)["v1.0.0"] == "published"
    assert published.failure_code == "too_slow"


@for_each_row(
    "more", ["HostKeyAlgorithms ssh-ed25519-cert-v01@openssh.com", "KexAlgorithms diffie-hellman-group1-sha1"]
)
def test_a_server_with_unusual_algorithms_alone_is_explained(portal, serve, more):
    with serve(more=more) as site:
        page = told_on_the_page(portal, site.port)

    assert OUTDATED in page
    assert "Have the server's administrator add an Ed25519 host key" in page


def test_a_host_key_that_is_too_short_is_not_pinned(portal, serve, tmp_path, host_keys):
    short = ssh_key(tmp_path / "short", kind="rsa", bits=1024)
    with serve(own=(short,), more="RequiredRSASize 1024") as site:
        assert OUTDATED in told_on_the_page(portal, site.port)
    with serve(own=(short, host_keys[0]), more="RequiredRSASize 1024") as site:
        vpc(site)
        assert len(portal.connected(site.url(NAME)).host_keys) == 1


def test_a_server_that_signs_by_sha1_alone_is_explained_on_the_page(portal, serve, host_keys):
    with serve(own=(host_keys[2],), more="HostKeyAlgorithms ssh-rsa") as site:
        vpc(site)
        repository = portal.connected(site.url(NAME))
        site.authorize(repository.credential_facts["public_key"])
        portal.look(repository)

    assert repository.preview["failure"]["code"] == "no_common_algorithm"
    page = pages.shown(portal.client.get(f"{LIST}/{repository.pk}/plan"))
    assert "have no algorithm in common" in page
    assert "Their offer: ssh-rsa" in page


def closing(client: socket.socket, is_over: threading.Event) -> None:
    """Close the connection like sshd does with an address that it blocks."""
    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    client.recv(1000)


def test_a_server_that_closes_connections_fails_the_listing_and_is_asked_again(portal, published):
    with speaking(closing) as port:
        GitRepository.objects.update(url=f"ssh://git@localhost:{port}/{NAME}.git")
        portal.sync(published)

    assert published.failure_code == "truncated", published.log
    assert published.next_at is not None


def test_a_server_that_takes_passwords_alone_is_explained_on_the_page(portal, serve):
    with serve(more="PubkeyAuthentication no\nPasswordAuthentication yes") as site:
        vpc(site)
        repository = portal.connected(site.url(NAME))
        portal.look(repository)

    assert repository.preview["failure"]["code"] == "unauthorized"
    page = pages.shown(portal.client.get(f"{LIST}/{repository.pk}/plan"))
    assert "takes only: password" in page
    assert "connect the repository by https" in page
