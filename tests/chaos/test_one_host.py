"""A fault of one host alone: another program writes to SQLite."""

import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.builders.archives import module_zip
from tests.chaos import report
from tests.chaos.world import check_invariants
from tests.live import Live

pytestmark = [pytest.mark.live, pytest.mark.embedded("locks the file of SQLite")]

LOCKED_SECONDS = 15.0 if float(os.environ.get("CHAOS_SECONDS", "0")) >= 60 else 1.0


def test_an_upload_waits_for_another_program_that_writes_to_the_database(live: Live) -> None:
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/locked", json={"visibility": "private"}).raise_for_status()
    other = sqlite3.connect(live.data_dir / "db.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        upload = pool.submit(live.publish, "locked/vpc/aws", "1.0.0", module_zip(), token)
        with live.client(token) as reader:
            assert reader.get("/api/v1/namespaces/locked").status_code == 200
        time.sleep(LOCKED_SECONDS)
        assert not upload.done()
        other.execute("ROLLBACK")
        over = time.monotonic()
        assert upload.result()["state"] == "published"
    other.close()
    check_invariants(live, "locked")
    report.measured(recovery=round(time.monotonic() - over, 1))
