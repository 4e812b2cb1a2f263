"""Backups under load, restores, and moves between databases: every version verifies afterwards."""

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from django import conf
from django.apps import apps
from django.db.migrations.loader import MigrationLoader

from apps.lib.formats import dsse
from registry_site.startup import schema
from tests import postgres
from tests.builders.archives import module_zip
from tests.live import CHECKOUT
from tests.site.operations.stopped import Stopped
from tests.site.processes import eventually

pytestmark = pytest.mark.live


def rows_of(folder: Path) -> dict[str, list[str]]:
    tables = {
        path.name: gzip.decompress(path.read_bytes()).decode().splitlines() for path in (folder / "tables").iterdir()
    }
    return {name: [tables[name][0], *sorted(tables[name][1:])] for name in tables}


@pytest.fixture(scope="module")
def saved(live, tmp_path_factory) -> Path:
    """A backup that was taken while people published; with keys apart, and what was published before it began."""
    folder = tmp_path_factory.mktemp("backup")
    token = live.token()
    over, published = threading.Event(), []
    with live.client(token) as client:
        client.put("/api/v1/namespaces/saved", json={"visibility": "private"})

    def publish() -> None:
        number = 0
        while not over.is_set():
            number += 1
            release = live.publish("saved/vpc/aws", f"1.0.{number}", module_zip(comment=str(number).encode()), token)
            published.append((release["version"], release["state"]))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        eventually(lambda: published, what="a version")
        statement = f"/api/v1/modules/saved/vpc/aws/{published[0][0]}/statement"
        with live.client(token) as client:
            eventually(lambda: client.get(statement).is_success, what="its statement")
        before = list(published)
        live.manage("audit", "verify")  # links the rows until now: their digests must be right after the restore
        live.manage("backup", str(folder / "backup"), "--keys", str(folder / "keys"))
        count = len(published)
        eventually(lambda: len(published) > count, what="a version")
    finally:
        over.set()
        thread.join()
    (folder / "before").write_text(json.dumps(before))
    return folder


@pytest.fixture(scope="module")
def stopped() -> Iterator[Callable[..., Stopped]]:
    made: list[Stopped] = []

    def make(folder: Path, secret_key: str = "", **variables: str) -> Stopped:
        made.append(Stopped(folder, secret_key, **variables))
        return made[-1]

    yield make
    for larder in made:
        larder.end()


@pytest.fixture(scope="module")
def restored(saved, stopped, tmp_path_factory) -> Stopped:
    larder = stopped(tmp_path_factory.mktemp("restored") / "data")
    output = larder.manage("restore", str(saved / "backup"), "--keys", str(saved / "keys"))
    assert " damaged." in output
    assert ": 0 damaged." in output
    return larder


@pytest.mark.nightly
def test_a_backup_under_load_is_whole_and_its_restore_verifies_completely(saved, restored):
    before = json.loads((saved / "before").read_text())
    manifest = json.loads((saved / "backup" / "manifest.json").read_text())

    releases = [json.loads(line) for line in rows_of(saved / "backup")["releases_release.jsonl.gz"]]
    versions = {row[releases[0].index("version")] for row in releases[1:]}
    assert {version for version, state in before if state == "published"} <= versions
    assert len(manifest["blobs"]) >= 2
    assert manifest["larder"] == conf.settings.VERSION
    assert "0 damaged" in restored.manage("verify")
    assert "rows are unchanged" in restored.manage("audit", "verify")


def columns_of(table: list[str]) -> list[dict]:
    names, *found = map(json.loads, table)
    return [dict(zip(names, row, strict=True)) for row in found]


@pytest.mark.nightly
def test_statements_verify_their_key_is_sealed_and_signs_after_the_restore(saved, restored):
    tables = rows_of(saved / "backup")
    [key] = columns_of(tables["signing_statementkey.jsonl.gz"])
    [private] = columns_of(tables["signing_privatestatementkey.jsonl.gz"])
    public = load_pem_public_key(key["public_key"].encode())
    assert isinstance(public, Ed25519PublicKey)
    assert "PRIVATE" not in json.dumps(private)
    statements = columns_of(tables["provenance_statement.jsonl.gz"])
    assert statements
    for row in statements:
        raw = bytes.fromhex(row["envelope"])
        assert hashlib.sha256(raw).hexdigest() == row["digest"]
        envelope = dsse.parse(raw)
        public.verify(envelope.signatures[0].signature, dsse.pae(envelope.payload_type, envelope.payload))
    assert " resealed." in restored.manage("reseal_signing_keys", "--all")  # it opens
    assert restored.manage("rotate_statement_key").strip().endswith(key["key_id"])


def test_a_restore_suspends_every_token(restored):
    assert "tokens are suspended" in restored.manage("restored")


def test_each_backup_is_in_the_audit_log(saved, live):
    """For the setup checklist of the admin."""
    assert live.query("SELECT COUNT(*) FROM audit_auditevent WHERE kind = 'operation:backup:written'") == 1


def test_keys_are_in_the_file_that_was_asked_for_and_nowhere_else(saved, live):
    secret = (live.data_dir / "secret_key").read_text().strip()

    assert json.loads((saved / "keys").read_text())["secret_key"].strip() == secret
    assert (saved / "keys").stat().st_mode & 0o777 == 0o600
    for path in (saved / "backup").rglob("*"):
        assert not path.is_file() or secret.encode() not in path.read_bytes()


def test_backups_and_restores_are_for_their_owner_alone_whatever_the_umask_is(restored, stopped, tmp_path):
    """0600 and 0700, or less: published blobs are read-only."""
    made = tmp_path / "made"
    elsewhere = {"LARDER_SIGNING_KEK_FILE": f"{made}/etc/kek", "LARDER_STORAGE_URL": f"file://{made}/stored/blobs"}
    target = stopped(made / "target" / "data", **elsewhere)

    def run(larder: Stopped, *arguments: str) -> None:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(
            command, cwd=CHECKOUT, env=larder.environment, umask=0, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    made.mkdir(mode=0o700)
    run(restored, "backup", f"{made}/backups/linked", "--keys", f"{made}/keys")
    run(restored, "backup", f"{made}/backups/copied", "--copy")
    run(target, "restore", f"{made}/backups/copied", "--keys", f"{made}/keys")

    open_to_others = {path: oct(path.stat().st_mode) for path in made.rglob("*") if path.stat().st_mode & 0o077}
    assert open_to_others == {}


def test_a_larder_in_use_is_not_overwritten(saved, restored):
    status, _, errors = restored.run("restore", str(saved / "backup"))

    assert (status, "is in use. Restore into an empty one." in errors) == (1, True)


@pytest.mark.nightly
@pytest.mark.needs("postgres")
def test_a_larder_moves_to_postgres_and_back_without_losing_a_row(restored, stopped, tmp_path):
    server = postgres.Server()
    secret = (restored.data_dir / "secret_key").read_text()
    scaled = stopped(tmp_path / "scaled", secret, LARDER_DATABASE_URL=server.url)
    back = stopped(tmp_path / "back", secret)

    restored.manage("export", str(tmp_path / "first"), "--keys", str(tmp_path / "keys"))
    assert ": 0 damaged." in scaled.manage("import", str(tmp_path / "first"))
    scaled.manage("export", str(tmp_path / "second"))
    assert ": 0 damaged." in back.manage("import", str(tmp_path / "second"), "--keys", str(tmp_path / "keys"))
    back.manage("export", str(tmp_path / "third"))

    first, second, third = (rows_of(tmp_path / name) for name in ("first", "second", "third"))
    assert first.keys() == second.keys() == third.keys()
    # Each import verifies, which is such a run, and links the newest audit rows before.
    for table in first.keys() - {"blobs_run.jsonl.gz", "audit_link.jsonl.gz"}:
        assert decoded(first[table]) == decoded(second[table]) == decoded(third[table]), table
    assert set(first["audit_link.jsonl.gz"]) <= set(third["audit_link.jsonl.gz"])
    assert "rows are unchanged" in back.manage("audit", "verify")
    given = [json.loads((tmp_path / name / "manifest.json").read_text())["last_numbers"] for name in ("first", "third")]
    for table in ("accounts_user", "audit_auditevent", "releases_release"):
        assert given[0][table] == given[1][table]


def decoded(lines: list[str]) -> list[str]:
    """Rows without the order of keys in JSON columns, which PostgreSQL changes."""
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in lines[1:])


def test_a_damaged_backup_is_refused_before_anything_is_written(saved, stopped, tmp_path):
    secret = json.loads((saved / "keys").read_text())["secret_key"]
    copy, target = tmp_path / "copy", stopped(tmp_path / "target", secret)
    subprocess.run(["cp", "-r", saved / "backup", copy], check=True)
    blob = next(path for path in (copy / "blobs").rglob("*") if path.is_file())
    data = blob.read_bytes()
    blob.chmod(0o600)
    blob.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "is damaged: sha256:" in target.run("restore", str(copy))[2]
    blob.unlink()
    assert "is not whole: sha256:" in target.run("restore", str(copy))[2]

    with (copy / "tables" / "accounts_user.jsonl.gz").open("ab") as file:
        file.write(b"x")
    assert "accounts_user.jsonl.gz was changed" in target.run("restore", str(copy))[2]
    (copy / "manifest.json").unlink()
    assert "it is not a backup, or is an unfinished one" in target.run("restore", str(copy))[2]
    assert not (target.data_dir / "blobs" / "sha256").exists()


@pytest.mark.nightly
def test_rows_that_no_worker_had_linked_when_the_backup_began_are_linked_by_its_restore(saved, stopped, tmp_path):
    """Restored a day later: a row without a link is suspect after ten minutes."""
    copy, target = tmp_path / "copy", stopped(tmp_path / "target", "x" * 50)
    shutil.copytree(saved / "backup", copy)
    names, *links = map(json.loads, rows_of(copy)["audit_link.jsonl.gz"])
    links.sort()  # their numbers come first
    kept = links[:-2]
    linked = {link[names.index("event_id")] for link in kept}
    manifest = json.loads((copy / "manifest.json").read_text())
    name = "tables/audit_link.jsonl.gz"
    manifest["checksums"][name] = rewritten(copy / name, [names, *kept])
    names, *events = map(json.loads, rows_of(copy)["audit_auditevent.jsonl.gz"])
    unlinked = [event for event in events if event[names.index("id")] not in linked]
    assert len(unlinked) >= 2
    for event in unlinked:
        event[names.index("at")] = "2026-01-01T00:00:00+00:00"
    name = "tables/audit_auditevent.jsonl.gz"
    manifest["checksums"][name] = rewritten(copy / name, [names, *events])
    (copy / "manifest.json").write_text(json.dumps(manifest))

    assert ": 0 damaged." in target.manage("restore", str(copy), "--unauthenticated")
    assert "rows are unchanged" in target.manage("audit", "verify")


def rewritten(table, rows):
    """Return the checksum of the table's new file."""
    table.write_bytes(gzip.compress("".join(f"{json.dumps(row)}\n" for row in rows).encode()))
    return hashlib.sha256(table.read_bytes()).hexdigest()


def without_later_columns(table, model):
    """Rewrite the file of a table as the version with this model has it; return its checksum."""
    with gzip.open(table, "rt") as lines:
        names, *rows = map(json.loads, lines)
    known = {field.attname for field in model._meta.concrete_fields}
    kept = [[cell for name, cell in zip(names, row, strict=True) if name in known] for row in [names, *rows]]
    return rewritten(table, kept)


def test_a_backup_of_an_earlier_version_is_brought_up_to_date(saved, stopped, tmp_path):
    """Of the last version before the migrations were squashed, with an authenticator app that had no dates yet."""
    copy, target = tmp_path / "copy", stopped(tmp_path / "target", "x" * 50)
    shutil.copytree(saved / "backup", copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    known = {app for app, *_ in schema.squashed()}
    later = [one.label for one in apps.get_app_configs() if one.name.startswith("apps.") and one.label not in known]
    manifest["migrations"] = {app: name for app, name in manifest["migrations"].items() if app not in later}
    manifest["migrations"] |= dict(replaced[-1] for _, _, replaced in schema.squashed())
    for app, squashed, _ in schema.squashed():  # what later migrations added
        for model in MigrationLoader(None).project_state((app, squashed)).apps.get_app_config(app).get_models():
            name = f"tables/{model._meta.db_table}.jsonl.gz"
            if (copy / name).exists():
                manifest["checksums"][name] = without_later_columns(copy / name, model)
    manifest["migrations"]["mfa"] = "0001_initial"
    model = MigrationLoader(None).project_state(("mfa", "0001_initial")).apps.get_model("mfa", "Authenticator")
    name = "tables/mfa_authenticator.jsonl.gz"
    manifest["checksums"][name] = without_later_columns(copy / name, model)
    (copy / "manifest.json").write_text(json.dumps(manifest))

    assert ": 0 damaged." in target.manage("restore", str(copy), "--unauthenticated")

    manifest["migrations"]["signing"] = "0003_plain_words"
    (copy / "manifest.json").write_text(json.dumps(manifest))
    earlier = stopped(tmp_path / "earlier", "x" * 50).run("restore", str(copy), "--unauthenticated")[2]
    assert "ends with signing.0003_plain_words" in earlier
    assert f"Restore it with commit {schema.UNSQUASHED}" in earlier
    manifest["migrations"]["signing"] = "9999_of_the_future"
    (copy / "manifest.json").write_text(json.dumps(manifest))
    future = stopped(tmp_path / "future", "x" * 50).run("restore", str(copy), "--unauthenticated")[2]
    assert "does not know the migration signing.9999_of_the_future" in future
