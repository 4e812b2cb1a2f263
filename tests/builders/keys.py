"""Real OpenPGP keys of every kind, made by gpg once a run: `signing_key("rsa4096").sign(data)`."""

import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.sharing import FOLDER

PASSPHRASE = "sesame"

# What `--quick-gen-key` is told: algorithm and usage of the primary, then those of its subkeys.
KINDS: dict[str, tuple[str, ...]] = {
    "ed25519": ("ed25519 sign",),
    "rsa4096": ("rsa4096 sign",),
    "rsa3072": ("rsa3072 sign",),
    "rsa2048": ("rsa2048 sign",),
    "rsa1024": ("rsa1024 sign",),
    "nistp256": ("nistp256 sign",),
    "nistp384": ("nistp384 sign",),
    "nistp521": ("nistp521 sign",),
    "secp256k1": ("secp256k1 sign",),
    "brainpool": ("brainpoolP256r1 sign",),
    "dsa": ("dsa2048 sign",),
    "foreign": ("ed25519 sign",),
    "subkey": ("ed25519 cert", "ed25519 sign", "cv25519 encrypt"),
    "certify-only": ("ed25519 cert", "cv25519 encrypt"),
    "expired": ("ed25519 sign",),
    "old": ("ed25519 sign",),
    "expiring": ("ed25519 sign",),
    "revoked": ("ed25519 sign",),
    "protected": ("ed25519 cert", "ed25519 sign"),
}
LIFETIMES = {"expired": "2d", "expiring": "20d"}
# These were made 30 days ago, and sign as of then: gpg signs nothing with an expired key.
PAST = ("expired", "old")
THEN = datetime.now(UTC) - timedelta(days=30)


@dataclass(frozen=True)
class TestKey:
    __test__ = False  # not a class of tests

    kind: str
    fingerprint: str
    armor: str = field(repr=False)
    secret_armor: str = field(repr=False)

    @property
    def key_id(self) -> str:
        return self.fingerprint[-16:]

    @functools.cache  # noqa: B019 - each key lives as long as the session
    def sign(self, data: bytes, *options: str) -> bytes:
        """A detached signature in binary form, made once; options of gpg change that, as `"--armor"` does."""
        way = () if "--clearsign" in options or "--sign" in options else ("--detach-sign",)
        with gpg_home() as home:
            gpg(home, "--import", data=self.secret_armor.encode())
            return gpg(home, "--digest-algo", "SHA512", *options, *way, data=data, then=self.kind in PAST)


def ahead(by: timedelta) -> tuple[str, str]:
    """Options of `sign`, on a machine whose clock is ahead."""
    return "--faked-system-time", f"{datetime.now(UTC) + by:%Y%m%dT%H%M%S}!"


def extended(made: TestKey, lifetime: str = "2y") -> TestKey:
    """The same key after its owner has moved its end, and that of its subkeys."""
    with gpg_home() as home:
        gpg(home, "--import", data=made.secret_armor.encode())
        gpg(home, "--quick-set-expire", made.fingerprint, lifetime)
        gpg(home, "--quick-set-expire", made.fingerprint, lifetime, "*")
        secret = gpg(home, "--armor", "--export-secret-keys").decode()
        return replace(made, armor=gpg(home, "--armor", "--export").decode(), secret_armor=secret)


def signing_key(kind: str = "ed25519") -> TestKey:
    return _made(kind)  # the cache would make another for the default than for its name


@functools.cache
def _made(kind: str) -> TestKey:
    """Those of the past are each process's own: it signs with them as of its THEN."""
    if kind in PAST:
        return _generated(kind)
    shared = FOLDER / f"{kind}.key.json"
    if not shared.exists():
        unfinished = shared.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(asdict(_generated(kind))))
        unfinished.replace(shared)
    return TestKey(**json.loads(shared.read_text()))


def _generated(kind: str) -> TestKey:
    with gpg_home() as home:
        primary, *subkeys = KINDS[kind]
        then = kind in PAST
        lifetime = LIFETIMES.get(kind, "0")
        name = f"{kind.capitalize()} Tester <{kind}@example.com>"
        gpg(home, "--quick-gen-key", name, *primary.split(), lifetime, then=then)
        fingerprint = _fingerprint(home)
        for subkey in subkeys:
            gpg(home, "--quick-add-key", fingerprint, *subkey.split(), lifetime, then=then)
        secret = gpg(home, "--armor", "--export-secret-keys")
        if kind == "revoked":
            certificate = (home / "openpgp-revocs.d" / f"{fingerprint}.rev").read_text()
            gpg(home, "--import", data=certificate.replace(":-----BEGIN", "-----BEGIN").encode())
        if kind == "protected":
            secret = _protected(home, fingerprint)
        return TestKey(kind, fingerprint, gpg(home, "--armor", "--export").decode(), secret.decode())


@contextmanager
def gpg_home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="lt-", dir="/tmp"))
    (home / "gpg-agent.conf").write_text("s2k-count 65536\n")  # measured otherwise, for seconds
    try:
        yield home
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


def gpg(home: Path, *arguments: str, data: bytes = b"", then: bool = False, passphrase: str = "") -> bytes:
    clock = ["--faked-system-time", f"{THEN:%Y%m%dT%H%M%S}!"] if then else []
    common = ["--homedir", str(home), "--batch", "--no-tty", "--pinentry-mode", "loopback", "--trust-model", "always"]
    weak = ["--allow-weak-digest-algos", "--allow-weak-key-signatures"]
    command = ["gpg", *common, *weak, "--passphrase", passphrase, *clock, *arguments]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def _fingerprint(home: Path) -> str:
    listed = gpg(home, "--with-colons", "--list-keys").decode().splitlines()
    return next(line.split(":")[9] for line in listed if line.startswith("fpr:"))


def _protected(home: Path, fingerprint: str) -> bytes:
    # Old passphrase (none is asked for), then the new one, for the primary and for its subkey.
    answers = f"{PASSPHRASE}\n" * 6
    command = ["gpg", "--homedir", str(home), "--no-tty", "--pinentry-mode", "loopback", "--command-fd", "0"]
    subprocess.run([*command, "--passwd", fingerprint], input=answers.encode(), check=True, capture_output=True)
    return gpg(home, "--armor", "--export-secret-keys", passphrase=PASSPHRASE)
