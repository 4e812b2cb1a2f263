"""Reports of strangers, read in a child that can only read and is killed at its limits."""

import tempfile
from collections.abc import Iterable
from hashlib import sha256

from apps.accounts.access import slots
from apps.accounts.access.gate import Viewer
from apps.contrib.checks.reading import shape
from apps.contrib.checks.reading.shape import Finding, Report, Run
from apps.lib.digests import counted
from apps.lib.errors import Invalid, Unavailable
from apps.lib.sandbox import parent

_MIB = 1024 * 1024
LIMITS = parent.Limits(seconds=10, memory_bytes=512 * _MIB, document_bytes=32 * _MIB)
_PROGRAM = "apps.contrib.checks.reading.child"
_HINT = "docs/checks.md says which reports Larder reads."


def read(viewer: Viewer, chunks: Iterable[bytes]) -> tuple[Report, str]:
    """Return the report, and the sha256 of its bytes. Raises TooLarge, Invalid with what is wrong, and Unavailable."""
    digest = sha256()
    with tempfile.TemporaryFile() as file:
        for chunk in counted(chunks, limit=shape.MAX_BYTES, what="The report"):
            digest.update(chunk)
            file.write(chunk)
        try:
            with slots.slot_of(viewer):
                answer = parent.run(program=_PROGRAM, request={}, stdin=file, limits=LIMITS, site_packages=True)
            if "refused" in answer:
                raise Invalid(f"found {answer['refused']}.", hint=_HINT)
            # Made as readers make it, which cuts and checks: a child that was taken over answers what it likes.
            findings, runs = answer.pop("findings"), answer.pop("runs")
            report = Report(**answer)
            for one in findings:
                report.add(Finding(**one))
            for one in runs:
                report.add(Run(**one))
            return report, digest.hexdigest()
        except parent.TooExpensive:
            raise Invalid("The report takes too much time or memory to read.", hint=_HINT) from None
        except (parent.CheckBroken, shape.BadReport, ValueError, KeyError, TypeError) as error:
            raise Unavailable("Larder's reader of reports failed.", hint="Send the same report again.") from error
