"""`--check` reads every file, `--rebuild` repairs, and the manifest says what there is."""

import hashlib
import io
import json

import pytest
from django.core.management import CommandError, call_command

from apps.contrib.copy import signing
from apps.contrib.copy.models import Root
from apps.contrib.copy.tree.manifest import PAYLOAD_TYPE
from apps.contrib.copy.writing import writer
from apps.jobs.claims import Claim
from apps.lib.formats import dsse
from apps.signing import statement_keys

ZIP = "packages/modules/acme/vpc/aws/1.2.0.zip"


@pytest.fixture
def signed(worker_host, monkeypatch):
    """A signing worker answers at once."""

    def sign(self, root):
        signing.sign_root(Claim(job_id=0, kind=writer.SIGN, target=root, attempt=1, fence=1, exhausted=False))

    monkeypatch.setattr(Claim, "guard", lambda _: None)
    monkeypatch.setattr(writer.Writer, "ask_for_signature", sign)


def run(tree, *options: str) -> str:
    out = io.StringIO()
    call_command("static_copy", "--to", f"file://{tree}", *options, stdout=out, stderr=out)
    return out.getvalue()


def damage(tree, path: str) -> None:
    file = tree / path
    file.unlink()
    file.write_bytes(b"another")


def test_the_whole_tree_is_written_and_found_to_be_right(published, tree, signed):
    published()

    assert "addresses in" in run(tree)
    assert run(tree, "--check") == "Every file is as it should be.\n"


def test_what_differs_is_named_and_repaired(published, tree, signed):
    published()
    run(tree)
    damage(tree, f"private/{ZIP}")
    (tree / "private/v1/modules/acme/vpc/aws/versions").unlink()
    (tree / "public/extra").write_bytes(b"left by hand")

    with pytest.raises(CommandError, match="3 files differ"):
        run(tree, "--check")
    assert "3 files differed, and were repaired" in run(tree, "--rebuild")

    assert run(tree, "--check") == "Every file is as it should be.\n"
    assert not (tree / "public/extra").exists()


def test_every_part_of_the_manifest_is_compared_and_repaired(published, tree, signed):
    published()
    run(tree)
    parts = [path for path in (tree / "manifest").rglob("*.json") if b"modules/acme/vpc" in path.read_bytes()]
    for path in [*parts, tree / "manifest.dsse"]:
        damage(tree, str(path.relative_to(tree)))

    with pytest.raises(CommandError, match="3 files differ"):
        run(tree, "--check")
    run(tree, "--rebuild")

    assert run(tree, "--check") == "Every file is as it should be.\n"


def test_the_root_is_signed_and_leads_to_every_file(published, tree, signed, settings):
    release = published()
    run(tree)

    envelope = (tree / "manifest.dsse").read_bytes()
    (key,) = statement_keys.listed()
    verified = statement_keys.verify(key, envelope)
    assert dsse.parse(envelope).payload_type == PAYLOAD_TYPE
    root = json.loads(verified.payload)
    assert root["registry"] == settings.PUBLIC_URL
    digests: dict[str, str] = {}
    for shard, digest in root["shards"].items():
        document = (tree / f"manifest/{shard}.json").read_bytes()
        assert hashlib.sha256(document).hexdigest() == digest
        digests |= json.loads(document)
    assert sorted(digests) == ["discovery", "modules/acme/vpc/aws"]
    name = hashlib.sha256(b"modules/acme/vpc/aws").hexdigest()
    listed = (tree / f"manifest/{name[:2]}/{name}.json").read_bytes()
    assert hashlib.sha256(listed).hexdigest() == digests["modules/acme/vpc/aws"]
    assert json.loads(listed)["visibility"] == "private"
    assert json.loads(listed)["files"][ZIP] == [release.digest, release.size]


def test_the_sequence_grows_with_each_root_and_nothing_is_sealed_twice(published, tree, signed):
    published()
    run(tree)
    first = Root.objects.get().sequence
    run(tree)
    assert Root.objects.get().sequence == first

    published("acme/vpc/aws", "1.3.0")
    run(tree)

    assert Root.objects.get().sequence > first


def test_no_signing_worker_is_said_and_the_documents_are_written(published, tree, monkeypatch):
    from apps.contrib.copy.management.commands import static_copy

    monkeypatch.setattr(static_copy, "SIGNED_SECONDS", 0.0)
    published()

    assert "no signing worker has answered" in run(tree)
    assert (tree / "private" / ZIP).exists()


@pytest.mark.parametrize("url", ["gs://bucket", "file://", "https://x.test"])
def test_a_place_that_cannot_be_one_is_refused(url, db):
    with pytest.raises(CommandError):
        call_command("static_copy", "--to", url)
