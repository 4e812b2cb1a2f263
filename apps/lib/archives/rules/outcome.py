"""The outcome of a check: a listing, or a refusal with every reason that was cheap to find. Both pass as JSON."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from apps.lib.errors import Invalid, Reason

MAX_REASONS = 20
_MAX_SHOWN_CHARACTERS = 200
LinkKind: TypeAlias = Literal["symbolic", "hard"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One member. `name` ends in `/` for a folder, `size` is unpacked bytes, `mode` permission bits (0: unknown).

    In a zip the member's data are the `packed` bytes from byte `at` of the file, stored (`method` 0) or deflated (8),
    so that one range of the stored archive is one file. `crc` is the CRC-32 of the file. In a tar these are 0.

    A link has no bytes: `target` is its text, for a hard link the name of another member.
    """

    name: str
    size: int
    mode: int
    is_dir: bool
    at: int = 0
    packed: int = 0
    method: int = 0
    link: LinkKind | None = None
    target: str = ""
    crc: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """An archive that breaks no rule.

    `digest` and `size` are of the whole file, as it was read here; `texts` are the wanted members by their own
    names: a text is cut exactly when it is shorter than its entry's `size`. `pid` is the process that read it, `form`
    one of `zip`, `tar.gz` and `tar.xz`. `private_keys` names the members (at most 100) that begin with a private key.
    """

    digest: str
    size: int
    entries: tuple[Entry, ...]
    texts: dict[str, bytes]
    pid: int
    form: str = "zip"
    private_keys: tuple[str, ...] = ()

    def as_fields(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "digest": self.digest,
            "size": self.size,
            "entries": [[getattr(entry, name) for name in Entry.__slots__] for entry in self.entries],
            "texts": {name: b64encode(text).decode("ascii") for name, text in self.texts.items()},
            "pid": self.pid,
            "form": self.form,
            "private_keys": self.private_keys,
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Raises the Refusal if the fields are those of one; ValueError, KeyError, TypeError if they are of neither."""
        raise_refusal(fields)
        return cls(
            digest=fields["digest"],
            size=fields["size"],
            entries=tuple(Entry(*entry) for entry in fields["entries"]),
            texts={name: b64decode(text) for name, text in fields["texts"].items()},
            pid=fields["pid"],
            form=fields["form"],
            private_keys=tuple(fields["private_keys"]),
        )


class Refusal(Invalid):
    """The archive breaks a rule. There are one to twenty `reasons`."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        self.reasons = list(reasons[:MAX_REASONS])
        super().__init__(" ".join(reason.sentence for reason in self.reasons))

    def as_fields(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"reasons": [reason.as_dict() for reason in self.reasons]}


def raise_refusal(fields: dict[str, Any]) -> None:
    if "reasons" in fields:
        raise Refusal([Reason.from_dict(reason) for reason in fields["reasons"]])


def refuse(code: str, found: str, expected: str, hint: str = "Pack it again.", file: str = "") -> Refusal:
    """A refusal for one reason, to be raised."""
    return Refusal([Reason(code, found, expected, hint, shown(file))])


def too_expensive(found: str) -> Refusal:
    """The refusal of an archive whose check exceeded its limits."""
    return refuse(
        "too_expensive", found, "an archive that needs fewer resources to check", "Pack fewer or smaller files."
    )


def shown(name: str) -> str:
    """A member's name for one line of text: control characters escaped, the middle of a long name cut out."""
    # repr, not the unicode_escape codec: that one is imported on first use, which the sandboxed child cannot do.
    text = name if name.isprintable() else "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in name)
    if len(text) <= _MAX_SHOWN_CHARACTERS:
        return text
    half = _MAX_SHOWN_CHARACTERS // 2
    return f"{text[:half]}…{text[-half:]}"
