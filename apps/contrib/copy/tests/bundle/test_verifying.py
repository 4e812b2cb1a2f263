"""A bundle that was changed, mixed up or forged is refused with a sentence, by the folder and a key alone: no test here
has a database.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from apps.contrib.copy.bundle import contents, trees, verifying
from apps.contrib.copy.bundle.contents import BadBundle, Catalogue, Item
from apps.lib.formats import dsse
from apps.lib.formats.oci_manifests import EMPTY, EMPTY_BYTES, IMAGE_MANIFEST, digest_of
from tests.programs import CHECKOUT

OTHER = Ed25519PrivateKey.generate()
PEM = OTHER.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
Files = dict[str, bytes]

pytestmark = pytest.mark.django_db  # the bundle is made in the database


@pytest.fixture
def whole(carried: Any, tmp_path: Path) -> Path:
    return shutil.copytree(carried.whole, tmp_path / "whole")


@pytest.fixture
def parts(carried: Any, tmp_path: Path) -> list[Path]:
    return [shutil.copytree(part, tmp_path / part.name) for part in carried.parts]


def blob(folder: Path, digest: str) -> Path:
    return folder / "blobs" / "sha256" / digest.removeprefix("sha256:")


def written(folder: Path, catalogue: Catalogue, *, blobs: Files | None = None, key: Any = OTHER, **signed: str) -> Path:
    """A bundle that someone who has a key of a registry could make."""
    root = contents.root(catalogue)
    payload = contents.canonical({"root": digest_of(root), "registry": catalogue.registry, "made_at": "2026"} | signed)
    (key_id,) = verifying.keys_of(PEM)
    signature = dsse.Signature(key_id, key.sign(dsse.pae(contents.SIGNED, payload)))
    envelope = dsse.Envelope(contents.SIGNED, payload, (signature,)).as_bytes()
    layer = {"mediaType": contents.SIGNED_BY, "digest": digest_of(envelope), "size": len(envelope)}
    manifest = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": EMPTY, "layers": [layer]}
    raw = contents.canonical(manifest)
    files = [root, catalogue.as_bytes(), envelope, raw, EMPTY_BYTES, *(blobs or {}).values()]
    (folder / "blobs" / "sha256").mkdir(parents=True)
    for data in files:
        blob(folder, digest_of(data)).write_bytes(data)
    (folder / contents.LAYOUT_FILE).write_bytes(contents.LAYOUT)
    (folder / contents.INDEX_FILE).write_bytes(
        contents.index([contents.descriptor(raw, artifact_type=contents.SIGNED_BY)])
    )
    return folder


def forged(**changes: Any) -> Catalogue:
    item = Item("modules", "acme/vpc/aws", "1.0.0", "0" * 64)
    fields = {"registry": "https://r.example", "made_at": "2026-12-01T00:00:00+00:00", "items": (item,), "parts": ({},)}
    return Catalogue(**{**fields, **changes})


def test_a_bundle_is_verified_without_django_and_without_a_registry(carried, whole, tmp_path):
    (tmp_path / "keys.pem").write_bytes(carried.pem)
    code = (
        "import sys; from pathlib import Path; from apps.contrib.copy.bundle import verifying as v; "
        "print(v.verify([Path(sys.argv[1])], v.keys_of(Path(sys.argv[2]).read_bytes())).root); "
        "assert not any(name.split('.')[0] == 'django' for name in sys.modules)"
    )
    program = [sys.executable, "-c", code, whole, tmp_path / "keys.pem"]

    done = subprocess.run(program, cwd=CHECKOUT, env={}, capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr) == (carried.roots["whole"], "")


def test_every_byte_counts(carried, whole):
    """One is flipped in each file, one after the other."""
    files = sorted((whole / "blobs").rglob("*"))
    files = [path for path in files if path.is_file()]
    assert len(files) > len(carried.opened(whole).catalogue.blobs)
    for path in files:
        raw = path.read_bytes()
        changed = bytearray(raw)
        changed[len(raw) // 2] ^= 1
        path.write_bytes(changed)
        with pytest.raises(BadBundle):
            carried.opened(whole)
        path.write_bytes(raw)
    assert carried.opened(whole).root == carried.roots["whole"]


def test_a_name_that_leads_to_another_version_is_refused(carried, whole):
    """What index.json says is not signed."""
    index = whole / contents.INDEX_FILE
    index.write_bytes(index.read_bytes().replace(b"acme/vpc/aws:1.0.0", b"acme/vpc/aws:3.0.0"))

    with pytest.raises(BadBundle, match=r"calls sha256:\w+ acme/vpc/aws:3\.0\.0, expected acme/vpc/aws:1\.0\.0"):
        carried.opened(whole)


def test_a_file_that_is_missing_is_named(carried, whole):
    digest = next(iter(carried.opened(whole).catalogue.blobs))
    blob(whole, digest).unlink()

    with pytest.raises(BadBundle, match=f"The bundle has no file of {digest}"):
        carried.opened(whole)


def test_a_link_is_no_file_of_the_bundle(carried, whole, tmp_path):
    digest = next(iter(carried.opened(whole).catalogue.blobs))
    blob(whole, digest).rename(tmp_path / "elsewhere")
    blob(whole, digest).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(BadBundle, match="has no file of"):
        carried.opened(whole)


def test_parts_are_verified_alone_and_together(carried, parts, tmp_path):
    assert len(parts) > 1
    for number, part in enumerate(parts, 1):
        alone = verifying.verify([part], carried.keys, parts_alone=True)
        assert number not in alone.missing
        assert len(alone.missing) == len(parts) - 1
    assert carried.opened(*reversed(parts)).missing == ()
    for part in parts:
        shutil.copytree(part, tmp_path / "joined", dirs_exist_ok=True)
    assert carried.opened(tmp_path / "joined").root == carried.opened(*parts).root


def test_a_missing_part_is_named(carried, parts):
    with pytest.raises(BadBundle, match=rf"^Part 2 of {len(parts)} is missing\.$"):
        carried.opened(*(part for part in parts if part.name != "part-002"))


def test_parts_of_two_bundles_are_refused(carried, parts, whole):
    with pytest.raises(BadBundle, match=r"These are parts of several bundles: .+part-001 is of sha256:.+whole is of"):
        carried.opened(parts[0], whole)


def test_a_bundle_that_another_key_signed_is_refused(carried, whole, tmp_path):
    with pytest.raises(BadBundle, match=f"signed by the key {carried.opened().key_id}, which is none of yours"):
        verifying.verify([whole], verifying.keys_of(PEM))
    forger = written(tmp_path / "forged", forged(), key=Ed25519PrivateKey.generate())
    with pytest.raises(BadBundle, match="or another key signed it"):
        verifying.verify([forger], verifying.keys_of(PEM))


@pytest.mark.parametrize(
    ("catalogue", "sentence"),
    [
        (forged(items=(Item("modules", "acme/vpc/aws", "1.0.0", "0" * 64),) * 2), "names the version .+ twice"),
        (
            forged(items=(Item("modules", "../../etc", "1.0.0", "0" * 64),)),
            "'../../etc', expected a name of modules",
        ),
        (forged(items=(Item("modules", "acme/vpc/aws", "../1", "0" * 64),)), "has the file name '../1', which leaves"),
        (
            forged(items=(Item("providers", "acme/dns", "1.0.0", "0" * 64, files={"../a.zip": f"sha256:{'0' * 64}"}),)),
            "has the file name '../a.zip', which leaves its folder",
        ),
        (forged(parts=({f"sha256:{'0' * 64}": 1}, {f"sha256:{'0' * 64}": 1})), "names the blob .+ twice"),
        (forged(parts=({"sha256:../../../../etc/passwd": 1},)), "Found the digest 'sha256:../../../../etc/passwd'"),
        (forged(items=(Item("modules", "acme/vpc/aws", "1.0.0", "0" * 64, state="mine"),)), "found the state 'mine'"),
    ],
)
def test_what_a_registry_must_not_sign_is_refused(catalogue, sentence, tmp_path):
    with pytest.raises(BadBundle, match=sentence):
        verifying.verify([written(tmp_path / "b", catalogue)], verifying.keys_of(PEM))


def test_a_root_that_names_other_files_than_its_catalogue_is_refused(tmp_path):
    data = b"no catalogue names me"
    catalogue = forged(parts=({digest_of(data): len(data)},))
    folder = written(tmp_path / "b", catalogue, blobs={"a": data})
    assert verifying.verify([folder], verifying.keys_of(PEM)).catalogue == catalogue
    other = written(tmp_path / "c", catalogue, blobs={"a": data}, registry="https://other.example")

    with pytest.raises(BadBundle, match="do not name the same files"):
        verifying.verify([other], verifying.keys_of(PEM))


def test_an_entry_that_overwrites_another_is_refused(carried, whole):
    index = json.loads((whole / contents.INDEX_FILE).read_bytes())
    index["manifests"].append(index["manifests"][-1])
    index["manifests"][-1] = index["manifests"][0] | {"digest": index["manifests"][1]["digest"]}
    (whole / contents.INDEX_FILE).write_text(json.dumps(index))

    with pytest.raises(BadBundle, match="names the entry bundle twice"):
        carried.opened(whole)


@pytest.mark.parametrize("name", [contents.INDEX_FILE, contents.LAYOUT_FILE])
def test_a_folder_that_is_no_layout_is_refused(name, carried, whole):
    (whole / name).unlink()

    with pytest.raises(BadBundle, match=re.escape("is not a bundle: it lacks index.json and oci-layout")):
        carried.opened(whole)


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"{", "is not an image index"),
        (b'{"manifests": []}', "has 0 signatures"),
        (b'{"manifests": [{}]}', "an entry has no 'digest'"),
    ],
)
def test_an_index_that_is_none_is_refused(raw, sentence, carried, whole):
    (whole / contents.INDEX_FILE).write_bytes(raw)

    with pytest.raises(BadBundle, match=sentence):
        carried.opened(whole)


def test_a_file_without_keys_is_refused():
    with pytest.raises(BadBundle, match="no Ed25519 public key"):
        verifying.keys_of(b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")


@pytest.mark.parametrize(
    ("paths", "sentence"),
    [
        (["public/../../x"], "'public/../../x', which leaves the tree"),
        (["etc/passwd"], "which leaves the tree"),
        (["public/v1/a", "public/v1/a"], "has two files at public/v1/a"),
    ],
)
def test_documents_stay_in_the_tree(paths, sentence):
    with pytest.raises(BadBundle, match=sentence):
        trees.unpacked(trees.written([(trees.BYTES, b"{}"), *((path, b"{}") for path in paths)]))
