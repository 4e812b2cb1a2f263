"""A restore drill: the command of deploy/systemd/larder-backup.service, to a bucket, encrypted, into a fresh Larder."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import confined, s3
from tests.builders.archives import module_zip
from tests.builders.keys import signing_key
from tests.builders.recipients import Recipient, recipient
from tests.chaos.faulty_storage import Proxy
from tests.e2e.providers import Depot
from tests.live import CHECKOUT, Live, environment_of, start_live

pytestmark = [
    pytest.mark.live,
    pytest.mark.nightly,
    pytest.mark.embedded("reads the folder of a storage"),
]
UNIT = "larder-backup"
VERSIONS = ("1.0.0", "1.1.0")
LAST_RUN = "SELECT is_good FROM blobs_run WHERE what = 'backup'"


@dataclass
class Drill:
    larder: Live
    operator: Recipient
    port: int
    archives: dict[str, bytes] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)

    def variables(self, **more: str) -> dict[str, str]:
        """Return the variables of /etc/larder/backup.env."""
        url = f"s3://larder-backups/prod?endpoint=http://127.0.0.1:{self.port}&region=us-east-1"
        given = {"LARDER_BACKUP_URL": url, "LARDER_BACKUP_RECIPIENT_FILE": str(self.operator.public)}
        return given | s3.KEYS | more

    def command(self) -> list[str]:
        """Return the command of the unit, under what the unit forbids where this machine can."""
        [start] = confined.directives(UNIT)["ExecStart"]
        words = start.split()
        words = words[words.index("/opt/larder/.venv/bin/python") + 1 :]
        limits = ["-m", "tests.confined", UNIT] if confined.is_possible() else []
        return [sys.executable, *limits, *words]

    def back_up(self, *more: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        environment = self.larder.environment | self.variables(**variables)
        command = [*self.command(), *more]
        return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)

    def names(self) -> list[str]:
        listed = self.back_up("--list")
        assert listed.returncode == 0, listed.stderr
        return listed.stdout.split()

    def on_a_new_host(self, data_dir: Path, *words: str, **variables: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "manage.py", *words]
        environment = environment_of(data_dir, 1, LARDER_LOG_LEVEL="ERROR", **self.variables(**variables))
        del environment["LARDER_BACKUP_RECIPIENT_FILE"]  # a restore needs no public key
        return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def drill(tmp_path_factory) -> Iterator[Drill]:
    """Modules and a provider in a Larder, and an empty bucket elsewhere."""
    folder = tmp_path_factory.mktemp("drill")
    with (
        s3.server() as port,
        start_live(folder / "old", why="all that it stores is compared with what is restored") as larder,
    ):
        s3.make_bucket(f"http://127.0.0.1:{port}", "larder-backups")
        found = Drill(larder, recipient(folder), port)
        token = larder.token()
        depot = Depot(larder, token, larder.token("admin", "read"), signing_key("ed25519"))
        depot.namespace("acme", "private")
        for version in VERSIONS:
            data = module_zip(comment=version.encode())
            assert larder.publish("acme/vpc/aws", version, data, token)["state"] == "published"
            found.archives[version] = data
        found.packages = depot.publish("acme/dns", "1.0.0", platforms=("linux_amd64",))
        yield found


def test_a_scheduled_backup_is_restored_into_a_fresh_larder_with_every_byte(drill: Drill, tmp_path: Path):
    keys, private = str(tmp_path / "keys"), str(drill.operator.private)
    drill.larder.manage("backup", str(tmp_path / "once"), "--keys", keys, "--without-blobs")
    written = drill.back_up()
    assert written.returncode == 0, written.stderr
    assert " is complete." in written.stdout

    new = tmp_path / "new"
    wanted = ["restore", "--from", "newest", "--private-key", private, "--keys", keys]
    rehearsed = drill.on_a_new_host(new / "data", *wanted, "--dry-run")
    assert rehearsed.returncode == 0, rehearsed.stderr
    assert "It can be restored here. Nothing was changed." in rehearsed.stdout
    assert "would install: secret_key" in rehearsed.stdout
    assert not new.exists()

    restored = drill.on_a_new_host(new / "data", *wanted)
    assert restored.returncode == 0, restored.stderr
    assert ": 0 damaged." in restored.stdout
    with start_live(new, why="a scheduled backup was restored to it") as larder:
        larder.manage("restored", "--revoke-tokens")
        token = larder.token("admin", "read")
        with larder.client(token, follow_redirects=True) as client:
            for version, data in drill.archives.items():
                link = client.get(f"/v1/modules/acme/vpc/aws/{version}/download").headers["X-Terraform-Get"]
                assert client.get(link.partition("?archive=")[0]).content == data
            found = client.get("/v1/providers/acme/dns/1.0.0/download/linux/amd64").json()
            assert client.get(found["download_url"]).content == drill.packages[found["filename"]]
        for name in stored(drill.larder):
            assert blob(larder, name) == blob(drill.larder, name), name
    again = drill.on_a_new_host(new / "data", *wanted, "--dry-run")
    assert again.returncode == 1
    assert "The backup is whole" in again.stdout
    assert "It cannot be restored here:\nThe database of LARDER_DATABASE_URL is in use" in again.stderr


def stored(larder: Live) -> set[str]:
    return larder.stored("sha256") | larder.stored("ledger")


def blob(larder: Live, name: str) -> bytes:
    return (larder.data_dir / "blobs" / name).read_bytes()


def test_a_backup_that_is_killed_half_way_is_none(drill: Drill):
    """At three points: the lock and the names must be free for the next one."""
    assert drill.back_up().returncode == 0
    before = drill.names()
    token = drill.larder.token()
    for number in range(3):
        version = f"2.{number}.0"
        drill.larder.publish("acme/vpc/aws", version, module_zip(comment=version.encode()), token)
        proxy = Proxy(drill.port)
        url = drill.variables()["LARDER_BACKUP_URL"].replace(str(drill.port), str(proxy.port))
        environment = drill.larder.environment | drill.variables(LARDER_BACKUP_URL=url)
        running = subprocess.Popen(drill.command(), cwd=CHECKOUT, env=environment, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(proxy.stored) < 1 + 15 * number:
            assert running.poll() is None, "it ended before it was killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        assert drill.names() == before

    written = drill.back_up()
    assert written.returncode == 0, written.stderr
    assert len(drill.names()) == len(before) + 1
    keys = s3.keys(drill.variables()["LARDER_BACKUP_URL"], "backups")
    assert {key.split("/")[1] for key in keys} == set(drill.names()), "the parts of the killed ones are gone"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"LARDER_BACKUP_RECIPIENT_FILE": "/nowhere.asc"}, "/nowhere.asc cannot be read: No such file or directory."),
        ({"LARDER_BACKUP_URL": "ftp://backups"}, "LARDER_BACKUP_URL begins with 'ftp'"),
        (
            {"LARDER_BACKUP_URL": "file://backups"},
            "LARDER_BACKUP_URL: This is not a folder: expected file:/// and its path.",
        ),
    ],
)
def test_a_scheduled_backup_that_cannot_run_says_what_to_set(drill: Drill, variables, words):
    refused = drill.back_up(**variables)

    assert refused.returncode == 1
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_bucket_that_does_not_exist_is_named_as_the_one_of_backups(drill: Drill):
    url = drill.variables()["LARDER_BACKUP_URL"].replace("larder-backups", "no-such-bucket")

    refused = drill.back_up(LARDER_BACKUP_URL=url)

    assert refused.returncode == 1
    assert "The storage of LARDER_BACKUP_URL failed: Storage refused the request (NoSuchBucket)" in refused.stderr
    assert "Check that it exists" in refused.stderr
    assert not drill.larder.query(LAST_RUN)


def test_the_audit_log_has_each_scheduled_backup(drill: Drill):
    count = "SELECT COUNT(*) FROM audit_auditevent WHERE kind = 'operation:backup:written'"
    before = drill.larder.query(count)

    assert drill.back_up().returncode == 0

    assert drill.larder.query(count) == before + 1
    assert drill.larder.query(LAST_RUN)
    newest = drill.larder.query(
        "SELECT detail FROM audit_auditevent WHERE kind = 'operation:backup:written' ORDER BY id DESC LIMIT 1"
    )
    assert json.loads(newest)["with_blobs"] is True
