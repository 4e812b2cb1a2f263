"""The host keys of ssh servers: asked for when a repository is connected, pinned, and shown by their fingerprints."""

import base64
import binascii
import hashlib
import re

from apps.lib.git import children, folders, ssh
from apps.lib.git.access import Access, GitFailed
from apps.lib.git.remotes import Remote

_SECONDS = 15.0
_CONNECT_SECONDS = 5
_MAX_BYTES = 64 * 1024
_KINDS = "ed25519,ecdsa,rsa"
_LINE = re.compile(r"\S+ (?P<key>(?:ssh-(?:ed25519|rsa)|ecdsa-sha2-nistp(?:256|384|521)) [A-Za-z0-9+/]+={0,2})")


def scanned(remote: Remote, access: Access) -> tuple[str, ...]:
    """Return the server's keys, each as `ssh-ed25519 AAAA…`. Raises GitFailed."""
    address = ssh.address_of(remote, access)
    words = ["ssh-keyscan", "-T", str(_CONNECT_SECONDS), "-p", str(remote.port), "-t", _KINDS, "--", address]
    with folders.temporary() as folder:
        command = children.Command(words, folder, {}, port=remote.port)
        output, _ = children.run(command, children.Clock(_SECONDS), _MAX_BYTES)
    found = (_LINE.fullmatch(line) for line in output.decode("ascii", "replace").splitlines())
    keys = dict.fromkeys(one["key"] for one in found if one and _is_of_its_kind(one["key"]))
    if not keys:
        raise GitFailed(
            "unreachable",
            f"{remote.host} on port {remote.port} showed no ssh host key.",
            hint="Check the host and the port, and that an ssh server answers there.",
        )
    return tuple(sorted(keys))


def fingerprint(key: str) -> str:
    """Return SHA256:…, as ssh-keygen -l and forges show it."""
    digest = hashlib.sha256(base64.b64decode(key.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode("ascii").rstrip("=")


def _is_of_its_kind(key: str) -> bool:
    """The key names its kind again inside."""
    kind, text = key.split()
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return data.startswith(len(kind).to_bytes(4, "big") + kind.encode("ascii"))
