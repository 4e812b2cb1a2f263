"""Files encrypted to the public keys of operators, as backups are, and decrypted with one of their private keys."""

import errno
import hashlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apps.lib.errors import RegistryError
from apps.signing import gnupg_home
from apps.signing.gpg import OPTIONS, Gpg, environment, program

# Archives and tables are compressed already.
ENCRYPT = ("--cipher-algo", "AES256", "--compress-algo", "none")
# A slow disk; and a person who is asked for a passphrase.
BYTES_PER_SECOND, SECONDS = 2_000_000, 300
EXPORT = "Export the public key again: gpg --armor --export FINGERPRINT"


class EncryptionFailed(RegistryError):
    """Nothing can be encrypted to these keys, or decrypted with them."""


@dataclass(frozen=True, slots=True)
class Recipients:
    """The public keys of a file. Each of them will decrypt; `id` differs for other keys."""

    file: Path
    home: Path
    fingerprints: list[str]

    @property
    def id(self) -> str:
        return hashlib.sha256(" ".join(self.fingerprints).encode()).hexdigest()[:16]

    def encrypt(self, source: Path, target: Path) -> None:
        """Raises EncryptionFailed."""
        keys = [word for one in self.fingerprints for word in ("--recipient", one)]
        if reason := _gpg(self.home, source, target, "--no-autostart", *ENCRYPT, *keys, "--encrypt"):
            raise EncryptionFailed(
                f"gpg cannot encrypt to the keys of {self.file}: {reason}.",
                hint=f"Expected keys that can encrypt and have not expired. {EXPORT}",
            )


@contextmanager
def recipients(file: Path) -> Iterator[Recipients]:
    """Raises EncryptionFailed."""
    with gnupg_home.home() as home:
        imported = Gpg(home).import_keys(_read(file))
        if imported.sec_read:
            raise EncryptionFailed(
                f"{file} has a private key: expected public keys alone.", hint=f"Take it off this host. {EXPORT}"
            )
        if not imported.fingerprints:
            raise EncryptionFailed(f"{file} has no public key that gpg can read.", hint=EXPORT)
        yield Recipients(file, home, sorted(set(imported.fingerprints)))


@dataclass(frozen=True, slots=True)
class PrivateKeys:
    home: Path | None

    def decrypt(self, source: Path, target: Path) -> None:
        """Raises EncryptionFailed; then `target` is not to be used."""
        if reason := _gpg(self.home, source, target, "--decrypt"):
            raise EncryptionFailed(
                f"gpg cannot decrypt {source.name}: {reason}.",
                hint="Name the file with an operator's private key: --private-key FILE",
            )


@contextmanager
def private_keys(file: Path | None) -> Iterator[PrivateKeys]:
    """Use the private keys of a file, or those of gpg's usual home, which asks for passphrases. Raises
    EncryptionFailed.
    """
    if file is None:
        yield PrivateKeys(None)
        return
    with gnupg_home.home(private=True) as home:
        imported = Gpg(home, private=True).import_keys(_read(file))
        if not imported.sec_read:
            raise EncryptionFailed(
                f"{file} has no private key that gpg can read.",
                hint="Export it: gpg --armor --export-secret-keys FINGERPRINT",
            )
        yield PrivateKeys(home)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise EncryptionFailed(
            f"{file} cannot be read: {error.strerror}.", hint="Check its name and its mode."
        ) from None


def _gpg(home: Path | None, source: Path, target: Path, *words: str) -> str:
    """Return why gpg wrote no file; empty if it did. It reads the file itself, in flat memory.

    A full disk is an OSError: it is no fault of a key.
    """
    batch = () if home is None else ("--batch",)  # the person's own gpg may ask for a passphrase
    command = [program("gpg"), *OPTIONS, *batch, "--yes", "--output", str(target), *words, str(source)]
    try:
        done = subprocess.run(  # noqa: S603  # a list of our own words
            command,
            env=None if home is None else environment(home),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=SECONDS + source.stat().st_size / BYTES_PER_SECOND,
        )
    except subprocess.TimeoutExpired:
        return "it took too long"
    if not done.returncode:
        return ""
    if any(sentence in done.stderr for sentence in gnupg_home.NO_ROOM):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
    lines = [line.removeprefix("gpg:").strip() for line in done.stderr.splitlines() if line.startswith("gpg:")]
    return lines[-1] if lines else f"it ended with {done.returncode}"
