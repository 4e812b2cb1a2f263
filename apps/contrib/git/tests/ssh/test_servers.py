"""Servers that are down, slow, outdated or something else: a clear error on the page, and soon."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from django.utils import timezone

from apps.contrib.git import host_scanning
from apps.contrib.git.models import GitRepository
from apps.contrib.git.remote import host_keys, refs
from apps.contrib.git.remote.access import Access, Limits
from apps.contrib.git.remote.remotes import parse
from apps.contrib.git.tests.conftest import RULES, work_off
from apps.contrib.git.tests.pages.conftest import LIST
from apps.contrib.git.tests.ssh.conftest import NAME, vpc
from apps.jobs.models import Job
from apps.lib.net import fetching
from tests import pages
from tests.builders.git_daemons import public_half
from tests.builders.git_servers import LOOPBACK, ssh_key
from tests.postgres import free_port
from tests.rows import for_each_row

pytestmark = [pytest.mark.slow, pytest.mark.needs("git", "ssh", "sshd")]
FEW_SECONDS = 2.0
ACCESS = Access(fetching.trusting("", 0, ""), allowed=LOOPBACK)
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


def remote_at(port):
    return parse(f"ssh://git@localhost:{port}/{NAME}.git")


def test_a_server_that_is_down_is_named_with_its_port_and_asked_again(portal, serve, call, dora):
    port = free_port()

    repository = portal.connected(f"ssh://git@localhost:{port}/{NAME}.git")
    assert (repository.host_keys, repository.host_scan["state"]) == ([], "failed")
    page = pages.text_of(portal.client.get(f"{LIST}/{repository.pk}/key"))
    assert f"localhost on port {port} showed no ssh host key" in page
    assert "can the repository" not in page
    GitRepository.objects.update(ended_at=timezone.now())
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
def test_a_port_that_speaks_something_else_or_endlessly_slowly_is_given_up(refusal, monkeypatch, speak):
    monkeypatch.setattr(host_keys, "_SECONDS", FEW_SECONDS)
    monkeypatch.setattr(host_keys, "_CONNECT_SECONDS", 1)
    with speaking(speak) as port:
        refused = refusal(host_keys.scanned, remote_at(port), ACCESS)

    assert f"localhost on port {port}" in str(refused)
    assert "that an ssh server is running there" in refused.hint


def closing(client: socket.socket, is_over: threading.Event) -> None:
    """Close the connection like sshd does with an address that it blocks."""
    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    client.recv(1000)


@for_each_row(("speak", "code"), [(slow_exchange, "too_slow"), (closing, "truncated")])
def test_a_server_that_became_slow_or_closes_connections_fails_the_listing(refusal, tmp_path_factory, speak, code):
    pinned = public_half(ssh_key(tmp_path_factory.mktemp("key") / "pinned"))
    with speaking(speak) as port:
        listing = (refs.listed, remote_at(port), replace(ACCESS, host_keys=(pinned,)), Limits(seconds=FEW_SECONDS))
        refused = refusal(*listing)

    assert (refused.code, refused.is_final) == (code, False)


@for_each_row(
    "more", ["HostKeyAlgorithms ssh-ed25519-cert-v01@openssh.com", "KexAlgorithms diffie-hellman-group1-sha1"]
)
def test_a_server_with_unusual_algorithms_alone_is_explained(refusal, serve, more):
    with serve(more=more) as site:
        refused = refusal(host_keys.scanned, remote_at(site.port), ACCESS)

    assert OUTDATED in str(refused)
    assert "Have the server's administrator add an Ed25519 host key" in refused.hint


def test_a_host_key_that_is_too_short_is_not_pinned(refusal, serve, tmp_path, own_keys):
    short = ssh_key(tmp_path / "short", kind="rsa", bits=1024)
    with serve(own=(short,), more="RequiredRSASize 1024") as site:
        assert OUTDATED in str(refusal(host_keys.scanned, remote_at(site.port), ACCESS))
    with serve(own=(short, own_keys[0]), more="RequiredRSASize 1024") as site:
        assert len(host_keys.scanned(remote_at(site.port), ACCESS)) == 1


@for_each_row(
    ("more", "code", "text", "hint"),
    [
        ("HostKeyAlgorithms ssh-rsa", "no_common_algorithm", "have no algorithm in common", ""),
        (
            "PubkeyAuthentication no\nPasswordAuthentication yes",
            "unauthorized",
            "takes only: password",
            "connect the repository by https",
        ),
    ],
)
def test_a_server_that_signs_by_sha1_or_takes_passwords_alone_is_explained(
    refusal, serve, own_keys, more, code, text, hint
):
    with serve(own=(own_keys[2],), more=more) as site:
        vpc(site)
        access = replace(ACCESS, private_key=site.key.read_text(), host_keys=site.host_keys)
        refused = refusal(refs.listed, parse(site.url(NAME)), access, Limits(seconds=60))

    assert refused.code == code
    assert text in f"{refused} {refused.hint}"
    assert hint in f"{refused} {refused.hint}"
