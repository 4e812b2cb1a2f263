"""`manage.py audit verify|export`: check that no audit row was changed, and write rows to a file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.audit import chain, heads, reading
from apps.lib.errors import Invalid


class Command(BaseCommand):
    help = "Check the hash chain over the audit rows, or export rows as JSON lines or CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        acts = parser.add_subparsers(dest="act", required=True, metavar="verify|export")
        verify = acts.add_parser("verify", help="Verify the chain; exit with 1 if a row was changed.")
        verify.add_argument("--head", default="", help="A digest recorded earlier, which must still be in the chain.")
        recorded = (
            "A file of recorded heads, or a log in JSON. By default that of LARDER_AUDIT_HEAD_URL, if it is a file."
        )
        verify.add_argument("--heads", type=Path, help=recorded)
        verify.add_argument("--file", default="", help="Check a file of exported JSON lines instead of the database.")
        export = acts.add_parser("export", help="Write rows to the standard output, the oldest first.")
        export.add_argument("--format", choices=list(reading.CONTENT_TYPES), default="jsonl")
        export.add_argument("--since", default="", help="A day (2026-01-31) or a time, which is included.")
        export.add_argument("--until", default="", help="A day, which is included, or a time, which is not.")
        export.add_argument("--kind", default="", help="Such as namespace:release:published.")
        export.add_argument("--person", default="", help="A user name.")

    def handle(self, **options: Any) -> None:
        if options["act"] == "verify":
            self._verify(options["head"], options["file"], options["heads"] or heads.file())
            return
        try:
            wanted = reading.Filter.from_query(options)
        except Invalid as refused:
            raise CommandError(f"{refused} {refused.hint}") from None
        for line in reading.export(wanted.of(reading.everything()), options["format"]):
            self.stdout.write(line, ending="")

    def _verify(self, head: str, file: str, recorded: Path | None) -> None:
        if file:
            with Path(file).open(encoding="utf-8") as lines:
                report = chain.verify_export(lines)
        else:
            chain.link()
            report = chain.verify()
            if head and not chain.has_digest(head):
                report.add(f"No link has the digest {head}: the chain was rewritten, or its end was cut off.")
            for problem in heads.problems_of(recorded) if recorded else ():
                report.add(problem)
        for problem in report.problems:
            self.stderr.write(problem)
        if report.problems:
            sys.exit(1)
        compared = f" The recorded heads of {recorded} are in the chain." if recorded and not file else ""
        self.stdout.write(
            f"{report.linked} rows are unchanged. The newest digest is {report.head or 'none'}.{compared}"
        )
