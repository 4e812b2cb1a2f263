"""Module archives for tests: a good one, and the corpus of archives that keep or break one rule each."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from textwrap import wrap

from apps.lib.archives import sandboxed
from tests.builders.zips import Member, build

MODULE = {
    "main.tf": 'resource "null_resource" "this" {\n  triggers = { name = var.name }\n}\n',
    "variables.tf": 'variable "name" {\n  type        = string\n  description = "What it is called."\n}\n',
    "outputs.tf": 'output "id" {\n  value       = null_resource.this.id\n  description = "Its id."\n}\n',
    "README.md": "# vpc\n\nA small module.\n",
}

# Of the form of a key, and of no use: its bytes are digests of numbers.
_KEY_BYTES = b64encode(b"".join(sha256(bytes([number])).digest() for number in range(8))).decode()
PRIVATE_KEY = (
    "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "\n".join(wrap(_KEY_BYTES, 70)) + "\n-----END OPENSSH PRIVATE KEY-----\n"
)


def module_zip(files: Mapping[str, str | bytes] | None = None, *, comment: bytes = b"") -> bytes:
    """A valid module archive; the same files and comment give the same bytes."""
    contents = MODULE if files is None else files
    members = [Member(name, text.encode() if isinstance(text, str) else text) for name, text in contents.items()]
    return build(members, comment=comment)


@dataclass(frozen=True, slots=True)
class Case:
    """One archive. `reason_code` is None where it is accepted; `member` is named by the refusal (empty: none is)."""

    name: str
    data: bytes | Callable[[], bytes]
    reason_code: str | None = None
    member: str = ""
    form: sandboxed.Form = "zip"

    @property
    def bytes(self) -> bytes:
        """The archive; the costly ones are built only here."""
        return self.data() if callable(self.data) else self.data


def corpus() -> list[Case]:
    """Every rule of zips with at least one archive that breaks it and a near miss that keeps it."""
    from tests.builders import corpus_members, corpus_names, corpus_whole

    return [*corpus_whole.cases(), *corpus_names.cases(), *corpus_members.cases()]


def tar_corpus() -> list[Case]:
    """The same for compressed tars."""
    from tests.builders import corpus_tars

    return corpus_tars.cases()
