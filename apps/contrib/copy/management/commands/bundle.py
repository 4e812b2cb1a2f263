import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.contrib.copy.bundle import importing, unpacking, verifying, writing
from apps.contrib.copy.bundle.selecting import Selection
from apps.contrib.copy.bundle.verifying import Opened
from apps.lib.amounts import amount_text
from apps.lib.errors import NotFound, RegistryError
from apps.lib.formats import lock_files
from apps.releases.models import State

LOOK_SECONDS = 0.5
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


class Command(BaseCommand):
    help = "Carry modules and providers to a registry without a network, as a signed OCI image layout."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        plan = commands.add_parser("plan", help="state versions, bytes and licences, and write nothing")
        create = commands.add_parser("create", help="write a bundle into a new folder")
        create.add_argument("folder", type=Path)
        create.add_argument("--part-size", type=_size, default=0, metavar="4G", help="parts of at most so many bytes")
        for one in (plan, create):
            one.add_argument("--namespace", action="append", default=[], metavar="NAME", help="repeat it")
            one.add_argument("--lock", action="append", default=[], type=Path, metavar="FILE", help="repeat it")
            one.add_argument("--published-from", type=_day, metavar="YYYY-MM-DD", help="versions of that day and later")
            one.add_argument("--since", default="", metavar="ROOT", help="leave out what this bundle has brought")
        verify = commands.add_parser("verify", help="verify a bundle without a registry")
        unpack = commands.add_parser("unpack", help="lay out a bundle as the static tree for a web server")
        bring = commands.add_parser("import", help="bring a bundle into this Larder")
        for one in (verify, unpack, bring):
            one.add_argument("folder", type=Path, nargs="+", help="of the bundle, or of each of its parts")
            one.add_argument("--key", type=Path, required=True, metavar="FILE", help="public keys of its registry, PEM")
        verify.add_argument("--part", action="store_true", help="the folders may be some of the parts")
        unpack.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="the root of the tree")
        bring.add_argument("--as", required=True, dest="username", metavar="USERNAME", help="whose releases they are")
        bring.add_argument("--no-wait", action="store_true", help="do not wait for the workers that publish")

    def handle(self, *_: Any, **options: Any) -> None:
        acts = {
            "plan": self.plan,
            "create": self.create,
            "verify": self.verify,
            "unpack": self.unpack,
            "import": self.bring,
        }
        try:
            acts[options["command"]](Namespace(**options))
        except RegistryError as refusal:
            raise CommandError(f"{refusal} {refusal.hint}".strip()) from None
        except OSError as problem:  # a file that is not there, a disk that is full
            raise CommandError(str(problem)) from None

    def plan(self, said: Namespace) -> None:
        planned = writing.plan(_selection(said), since=said.since)
        licences = Counter(one.licence or "unknown" for one in planned.new)
        for licence, count in sorted(licences.items()):
            self.stdout.write(f"{licence}: {count} versions")
        for address in sorted({one.address for one in planned.new if not one.licence}):
            self.stdout.write(f"  {address}")
        self.stdout.write(
            f"{len(planned.new)} of {len(planned.catalogue.items)} versions to carry, {len(planned.blobs)} files, "
            f"{amount_text(sum(planned.blobs.values()))}."
        )

    def create(self, said: Namespace) -> None:
        bundle, folders = writing.create(said.folder, _selection(said), since=said.since, part_bytes=said.part_size)
        for folder in folders:
            self.stdout.write(str(folder))
        self.stdout.write(f"{bundle.root} signed by {bundle.key_id}")

    def verify(self, said: Namespace) -> None:
        opened = self.opened(said, parts_alone=said.part)
        here = [str(number + 1) for number in range(len(opened.catalogue.parts)) if number + 1 not in opened.missing]
        what = (
            f"Part {', '.join(here)} of {len(opened.catalogue.parts)} of the bundle" if opened.missing else "The bundle"
        )
        self.stdout.write(
            f"{what} is complete and unchanged: {opened.root}, made by {opened.catalogue.registry} at "
            f"{opened.catalogue.made_at}, signed by {opened.key_id}."
        )

    def unpack(self, said: Namespace) -> None:
        written, removed = unpacking.unpack(self.opened(said), said.to)
        self.stdout.write(f"{written} files written, {removed} removed in {said.to}.")

    def bring(self, said: Namespace) -> None:
        user = User.objects.filter(username=said.username).first()
        if user is None:
            raise NotFound(f"There is no account {said.username!r}.", hint="Name the owner of what is imported.")
        opened = self.opened(said)
        outcome = importing.bring(opened, Viewer(user), began=lambda item: self.stdout.write(f"{item}"))
        while outcome.is_under_way and not said.no_wait:
            time.sleep(LOOK_SECONDS)
        for sentence in (*outcome.changed, *outcome.left_out):
            self.stdout.write(sentence)
        outcome.problems += [
            f"{release}: {' '.join(reason.sentence for reason in release.refusals())}"
            for release in outcome.releases.filter(state__in=[State.REJECTED, State.FAILED])
        ]
        states = Counter(outcome.releases.values_list("state", flat=True))
        said_of = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        self.stdout.write(f"{outcome.unchanged} versions were here. New: {said_of or 'none'}.")
        for problem in outcome.problems:
            self.stderr.write(problem)
        if outcome.problems:
            raise CommandError(
                f"{len(outcome.problems)} were not imported. Fix what is named above, and import the bundle again."
            )

    def opened(self, said: Namespace, *, parts_alone: bool = False) -> Opened:
        return verifying.verify(said.folder, verifying.keys_of(said.key.read_bytes()), parts_alone=parts_alone)


def _selection(said: Namespace) -> Selection:
    locks = [lock_files.parse_lock(path.read_text()) for path in said.lock]
    return Selection(said.namespace, locks, said.published_from)


def _size(text: str) -> int:
    unit = text[-1:].upper() if text[-1:].upper() in _UNITS else ""
    number = text[: len(text) - len(unit)]
    if not number.isdecimal() or not int(number):
        raise ArgumentTypeError(f"found the size {text!r}, expected a number and K, M, G or T, such as 4G")
    return int(number) * _UNITS[unit]


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
