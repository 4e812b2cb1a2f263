"""A backup has the statements and the keys of the registry, sealed; a restore can sign with them again."""

import hashlib
import json
import time

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from apps.lib.formats import dsse
from tests.builders.archives import module_zip
from tests.site.operations.stopped import Stopped
from tests.site.operations.test_backup import rows_of

pytestmark = pytest.mark.live


def columns_of(table: list[str]) -> list[dict]:
    names, *found = map(json.loads, table)
    return [dict(zip(names, row, strict=True)) for row in found]


@pytest.mark.nightly
def test_statements_verify_and_their_key_signs_after_a_restore(live, tmp_path):
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/stated", json={"visibility": "private"})
        live.publish("stated/vpc/aws", "1.0.0", module_zip(comment=b"stated"), token)
        deadline = time.monotonic() + 60
        while client.get("/api/v1/modules/stated/vpc/aws/1.0.0/statement").status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    live.manage("backup", str(tmp_path / "backup"), "--keys", str(tmp_path / "keys"))
    tables = rows_of(tmp_path / "backup")
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
    restored = Stopped(tmp_path / "restored")
    try:
        restored.manage("restore", str(tmp_path / "backup"), "--keys", str(tmp_path / "keys"))
        assert " resealed." in restored.manage("reseal_signing_keys", "--all")  # it opens
        assert restored.manage("rotate_statement_key").strip().endswith(key["key_id"])
    finally:
        restored.end()
