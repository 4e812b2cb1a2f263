"""`manage.py doctor`: try every part, name what is wrong and how to fix it."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from registry_site.operations import doctor, examining

WRONG, WARNED = 1, 2


class Command(BaseCommand):
    help = "Check every part: exit status 0 if all is well, 1 for errors, 2 for warnings only."
    requires_system_checks: list[str] = []  # they are among what it looks at

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON document.")

    def handle(self, *_: Any, **options: Any) -> None:
        findings = []
        for finding in doctor.examine():
            findings.append(finding)
            if not options["json"]:
                self.stdout.write(f"{finding.state:4}  {finding.part}: {finding.found}")
                if finding.hint:
                    self.stdout.write(f"      {finding.hint}")
        states = {finding.state for finding in findings}
        if options["json"]:
            worst = next(state for state in (examining.FAIL, examining.WARN, examining.OK) if state in states)
            self.stdout.write(json.dumps({"status": worst, "findings": [asdict(one) for one in findings]}, indent=2))
        if examining.FAIL in states:
            raise SystemExit(WRONG)
        if examining.WARN in states:
            raise SystemExit(WARNED)
