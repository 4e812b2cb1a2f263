import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.accounts.access.gate import NOBODY
from apps.contrib.mirror.ahead import run_threads, sync_requests, syncing
from apps.contrib.mirror.models import RunState, SyncRun
from apps.jobs.models import Job
from apps.lib.amounts import amount_text
from apps.lib.errors import RegistryError

LOOK_SECONDS = 0.5
SHOWN = 40


class Command(BaseCommand):
    help = "Fetch providers of other registries in advance."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="command", required=True)
        sync = commands.add_parser(
            "sync",
            help="state what would be fetched, then fetch and verify it",
            description="Patterns are [HOST/]NAMESPACE/TYPE[@VERSION], such as registry.opentofu.org/hashicorp/random "
            "(its newest release) or hashicorp/*@>=3.0 (all these versions). Registries cannot be listed, so * matches "
            "the providers that clients or earlier syncs have named. Sealed upstreams are synced too.",
        )
        sync.add_argument("pattern", nargs="*")
        sync.add_argument("--lock", type=Path, metavar="FILE", help="the versions of a .terraform.lock.hcl")
        sync.add_argument(
            "--required-providers", type=Path, metavar="FILE", help="what clients select for a terraform block"
        )
        sync.add_argument("--client", choices=["tofu", "terraform"], default="", help="whose default registry counts")
        sync.add_argument("--platform", action="append", metavar="OS_ARCH", help="such as linux_amd64; repeat it")
        sync.add_argument("--pin", action="store_true", help="never evict what this sync names")
        sync.add_argument("--plan", action="store_true", help="state versions, platforms and bytes, and stop")
        sync.add_argument("--yes", action="store_true", help="do not ask")
        sync.add_argument("--every", type=int, metavar="HOURS", help="leave it to workers, now and every so many hours")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            self.sync(options)
        except RegistryError as refusal:
            raise CommandError(f"{refusal} {refusal.hint}".strip()) from None

    def sync(self, options: dict[str, Any]) -> None:
        request = sync_requests.read(
            patterns=options["pattern"],
            lock=_text_of(options["lock"]),
            required_providers=_text_of(options["required_providers"]),
            platforms=options["platform"] or ["linux_amd64"],
            client=options["client"],
            is_pinned=options["pin"],
        )
        if options["every"] is not None:
            syncing.repeat(request, every_hours=options["every"], viewer=NOBODY)
            syncing.start_due(now=timezone.now())
            self.stdout.write(f"Scheduled every {options['every']} h. Workers have begun; see /mirror/sync.")
            return
        run = syncing.start(request, viewer=NOBODY)
        self.follow(run)
        self.show_plan(run)
        if run.state != RunState.PLANNED:
            raise CommandError(f"The sync has ended: {run.get_state_display()}.")
        if options["plan"] or not run.planned or not (options["yes"] or self.is_wanted()):
            syncing.cancel(run, viewer=NOBODY)
            self.stdout.write("Nothing was fetched.")
            return
        syncing.confirm(run, viewer=NOBODY)
        known = len(run.problems)
        self.follow(run)
        for problem in run.problems[known:]:
            self.stderr.write(problem)
        self.stdout.write(f"{run.done} of {run.planned} packages, {amount_text(run.done_bytes)} fetched.")
        if run.state != RunState.DONE or len(run.problems) > known:
            raise CommandError(f"The sync ended as {run.get_state_display()}, with problems.")

    def follow(self, run: SyncRun) -> None:
        """Do the job here unless a worker has it already, and wait for the end."""
        job = Job.objects.filter(kind=syncing.JOB, target=run.pk).order_by("-pk").first()
        if job is not None:
            run_threads.run_here(job.pk)
        shown = -1
        while True:
            run.refresh_from_db()
            if run.state not in syncing.WORKING:
                return
            if run.done != shown and run.state == RunState.RUNNING:
                shown = run.done
                self.stdout.write(f"{run.done} of {run.planned} packages, {amount_text(run.done_bytes)}")
            time.sleep(LOOK_SECONDS)

    def show_plan(self, run: SyncRun) -> None:
        missing = [entry for entry in run.plan if not entry["is_stored"]]
        for entry in missing[:SHOWN]:
            size = amount_text(entry["size"]) if entry["size"] is not None else "unknown size"
            self.stdout.write(f"{entry['provider']} {entry['version']} {entry['platform']}: {size}")
        if len(missing) > SHOWN:
            self.stdout.write(f"… and {len(missing) - SHOWN} more")
        for problem in run.problems:
            self.stderr.write(problem)
        counts = (
            len({(one["provider"], one["version"]) for one in run.plan}),
            len({one["platform"] for one in run.plan}),
        )
        self.stdout.write(
            f"To fetch: {len(missing)} packages, {amount_text(run.planned_bytes)}. Stored already: "
            f"{len(run.plan) - len(missing)}. In all {counts[0]} versions on {counts[1]} platforms."
        )

    def is_wanted(self) -> bool:
        if not sys.stdin.isatty():
            return False
        return input("Fetch them? [y/N] ").strip().lower() in ("y", "yes")


def _text_of(path: Path | None) -> str:
    """Raises CommandError."""
    if path is None:
        return ""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
