"""Case 8 of the list of faults: the 8 MB on which gpg's homes are fill up, at every step of what gpg does there."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.accounts.models import Namespace
from apps.signing import gnupg_home
from apps.signing.armor import parse
from apps.signing.gnupg_home import HomesFull
from apps.signing.key_generation import generate
from apps.signing.signer import sign
from apps.signing.verifying import verify
from tests.builders.held import held_key, key_row
from tests.builders.keys import signing_key
from tests.mounts import filled, small_disk
from tests.needs import needs
from tests.signing.conftest import agents_in, homes_of
from tests.site.processes import eventually

DATA = b"0" * 64 + b"  terraform-provider-maps_1.0.0_linux_amd64.zip\n"
# gpg writes less than this in any home: the last ones succeed.
ROOM = 256 * 1024
STEP = 16 * 1024


@pytest.fixture
@needs("mounts")
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # A short path, whatever TMPDIR is: that of the agent's socket has at most 108 bytes.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, small_disk(Path(folder), 8) as disk:
        monkeypatch.setattr(gnupg_home, "MEMORY", disk)
        yield disk


def outcomes(memory: Path, act: Callable[[], object], step: int = STEP) -> list[bool]:
    """Return whether it was done, with more and more room left. Whatever else it raises than HomesFull is a
    failure.
    """
    found = []
    for room in range(0, ROOM + 1, step):
        with filled(memory, but_bytes=room):
            try:
                act()
                found.append(True)
            except HomesFull:
                found.append(False)
            assert homes_of(os.getpid()) == []
    eventually(lambda: not agents_in(f"larder-gpg-{os.getpid()}-"), what="the end of the agents")
    return found


@pytest.mark.slow
def test_signing_waits_for_room_and_makes_no_bad_signature(memory: Path, acme: Namespace, worker_host: None) -> None:
    key = held_key(acme)
    signatures = []

    found = outcomes(memory, lambda: signatures.append(sign(key=key, data=DATA)))

    assert (found[0], found[-1]) == (False, True)
    assert [verify(data=DATA, signature=one, keys=[key]) for one in signatures] == [key] * sum(found)


@pytest.mark.slow
def test_a_publishers_signature_is_not_called_bad_for_want_of_room(memory: Path, acme: Namespace) -> None:
    """Nor is a key."""
    key, signature, armor = key_row(acme), signing_key("ed25519").sign(DATA), signing_key("rsa4096").armor

    for act in (lambda: verify(data=DATA, signature=signature, keys=[key]), lambda: parse(armor)):
        found = outcomes(memory, act)
        assert (found[0], found[-1]) == (False, True)


@pytest.mark.slow
def test_a_key_is_made_whole_or_not_at_all(memory: Path) -> None:
    found = outcomes(memory, lambda: generate("ed25519", name="acme"))

    assert (found[0], found[-1]) == (False, True)
