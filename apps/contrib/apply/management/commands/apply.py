"""`manage.py apply larder.yaml`: make this registry as the file describes it."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from apps.accounts.management.base import RegistryCommand
from apps.contrib.apply import applying, schema
from apps.contrib.apply.planning import ADD, CHANGE, REMOVE

WORDS = {ADD: "to add", CHANGE: "to change", REMOVE: "to remove"}
DONE = {ADD: "added", CHANGE: "changed", REMOVE: "removed"}


class Command(RegistryCommand):
    help = "Make this registry as a file describes it. What the file does not name is left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", help="in YAML; docs/as-code.md describes it")
        parser.add_argument("--plan", action="store_true", help="show what would change, and change nothing")
        parser.add_argument("--schema", action="store_true", help="print the JSON schema of the file, for editors")

    def handle(self, **options: Any) -> None:
        if options["schema"]:
            self.stdout.write(json.dumps(schema.document(), indent=2))
            return
        if options["file"] is None:
            self.print_help("manage.py", "apply")
            return
        counts = dict.fromkeys(WORDS, 0)
        for step in applying.steps(options["file"], acts=not options["plan"]):
            counts[step.sign] += 1
            self.stdout.write(str(step))
            if step.shown_once and not options["plan"]:
                self.stdout.write(f"  its secret, which is shown once: {step.shown_once}")
        words = WORDS if options["plan"] else DONE
        said = ", ".join(f"{count} {words[sign]}" for sign, count in counts.items() if count)
        self.stdout.write(f"{said[0].upper()}{said[1:]}." if said else "This registry is as described: no changes.")
