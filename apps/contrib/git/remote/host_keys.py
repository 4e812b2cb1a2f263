"""The host keys of ssh servers: asked for when a repository is connected, pinned, and shown by their fingerprints."""

import base64
import hashlib
import re

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from apps.contrib.git.remote import children, folders, ssh
from apps.contrib.git.remote.access import Access, GitFailed
from apps.contrib.git.remote.remotes import Remote

_SECONDS = 15.0
_CONNECT_SECONDS = 5
_MAX_BYTES = 64 * 1024
_KINDS = "ed25519,ecdsa,rsa"
_MIN_RSA_BITS = 2048
_BANNER = re.compile(r"^# \S+ SSH-", re.MULTILINE)
_LINE = re.compile(r"\S+ (?P<key>(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521)) [A-Za-z0-9+/]+={0,2})")


def scanned(remote: Remote, access: Access) -> tuple[str, ...]:
    """Return the server's keys, each as `ssh-ed25519 AAAA…`. Raises GitFailed."""
    address = ssh.address_of(remote, access)
    words = ["ssh-keyscan", "-T", str(_CONNECT_SECONDS), "-p", str(remote.port), "-t", _KINDS, "--", address]
    with folders.temporary() as folder:
        command = children.Command(words, folder, {}, port=remote.port)
        try:
            output, ended = children.run(command, children.Clock(_SECONDS), _MAX_BYTES)
        except GitFailed as failed:
            if failed.code != "too_slow":
                raise
            text = f"{remote.host} on port {remote.port} did not show its keys within {_SECONDS:g} seconds."
            raise GitFailed(
                "too_slow", text, hint="Check that an ssh server is running there, then try again."
            ) from None
    found = (_LINE.fullmatch(line) for line in output.decode("ascii", "replace").splitlines())
    keys = dict.fromkeys(one["key"] for one in found if one and _is_trustworthy(one["key"]))
    if not keys and (output or _BANNER.search(ended.errors)):
        raise GitFailed(
            "no_common_algorithm",
            f"The ssh server {remote.host} has no host key that Larder takes: Ed25519, ECDSA, or RSA of "
            f"{_MIN_RSA_BITS:,} bits or more.",
            hint="Have the server's administrator add an Ed25519 host key, and enable OpenSSH's default algorithms.",
            is_final=True,
        )
    if not keys:
        raise GitFailed(
            "unreachable",
            f"{remote.host} on port {remote.port} showed no ssh host key.",
            hint="Check the host and port, and that an ssh server is running there.",
        )
    return tuple(sorted(keys))


def fingerprint(key: str) -> str:
    """Return SHA256:…, as ssh-keygen -l and forges show it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def kind(key: str) -> str:
    """Return Ed25519, ECDSA or RSA, as forges head their fingerprints."""
    name = key.split(maxsplit=1)[0]
    return "ECDSA" if name.startswith("ecdsa") else {"ssh-ed25519": "Ed25519", "ssh-rsa": "RSA"}.get(name, name)


def _is_trustworthy(key: str) -> bool:
    """RSA keys that are too short can be broken, and then show that another server is this one."""
    try:
        found = load_ssh_public_key(key.encode("ascii"))
    except (ValueError, UnsupportedAlgorithm):
        return False
    return not isinstance(found, RSAPublicKey) or found.key_size >= _MIN_RSA_BITS
