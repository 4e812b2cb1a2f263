"""`h1:`, the hash of an unpacked package by which lock files know it: Go's dirhash, "Hash1"."""

import hashlib
from base64 import b64encode


class Tree:
    """Takes the digest of each file. Folders do not count: clients hash the files that they find on disk."""

    def __init__(self) -> None:
        self._digests: dict[bytes, str] = {}

    def add(self, name: str, sha256: str) -> None:
        self._digests[name.encode()] = sha256

    @property
    def h1(self) -> str:
        whole = hashlib.sha256()
        for name, digest in sorted(self._digests.items()):
            whole.update(digest.encode() + b"  " + name + b"\n")
        return "h1:" + b64encode(whole.digest()).decode()
