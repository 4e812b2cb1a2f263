"""The client releases whose rules are known, and sets of them as bits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from apps.lib.hcl.files import Diagnostic

OPENTOFU, TERRAFORM = "OpenTofu", "Terraform"
# Each release from the oldest that is supported: add one when it appears, and read its schemas again.
RELEASES: Final = (
    *((OPENTOFU, minor) for minor in (12, 13)),
    *((TERRAFORM, minor) for minor in range(11, 17)),
)

Clients = int  # a bit for each release


def since(opentofu: int | None, terraform: int | None) -> Clients:
    """The releases from these minor versions on; None: no release of that client."""
    first = {OPENTOFU: opentofu, TERRAFORM: terraform}
    bits = 0
    for at, (client, minor) in enumerate(RELEASES):
        start = first[client]
        if start is not None and minor >= start:
            bits |= 1 << at
    return bits


EVERY: Final = since(0, 0)
NONE: Final = 0
ONLY_OPENTOFU: Final = since(0, None)
ONLY_TERRAFORM: Final = since(None, 0)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the clients in `refusing` refuse."""

    diagnostic: Diagnostic
    refusing: Clients = EVERY


def required(accepting: Clients) -> str:
    """For people: `OpenTofu`, `Terraform 1.14`, `OpenTofu 1.13 or Terraform before 1.15`. Empty if every release
    accepts.
    """
    if accepting == EVERY:
        return ""
    return " or ".join(filter(None, (_name(client, accepting) for client in (OPENTOFU, TERRAFORM))))


def _name(client: str, accepting: Clients) -> str:
    """The client, with its first or last accepting release unless all of them accept."""
    minors = [minor for at, (name, minor) in enumerate(RELEASES) if name == client and accepting >> at & 1]
    if not minors:
        return ""
    known = [minor for name, minor in RELEASES if name == client]
    if minors == known:
        return client
    if minors[-1] == known[-1]:
        return f"{client} 1.{minors[0]}"
    before = f"{client} before 1.{minors[-1] + 1}"
    return before if minors[0] == known[0] else f"{client} 1.{minors[0]} to 1.{minors[-1]}"


def refused_by_all(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that stop every client: those that all refuse; else those that together leave none over."""
    listed = list(findings)
    sure = [finding for finding in listed if finding.refusing == EVERY]
    if sure:
        return sure
    refusing = NONE
    for finding in listed:
        refusing |= finding.refusing
    return listed if refusing == EVERY else []
