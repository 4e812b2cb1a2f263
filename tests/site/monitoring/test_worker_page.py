"""/metrics of a worker: what it counts itself, for Prometheus and nobody else."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.live import CHECKOUT, Live, environment_of
from tests.postgres import free_port
from tests.site.monitoring.test_metrics import TOKEN, samples_of
from tests.site.processes import eventually

pytestmark = pytest.mark.live


@pytest.fixture
def url(live: Live, tmp_path: Path) -> Iterator[str]:
    """A worker on a host without a web process, behind a proxy as the others are."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    (tmp_path / "data").mkdir(mode=0o700)
    port = free_port()
    environment = environment_of(
        tmp_path / "data",
        free_port(),
        LARDER_DATABASE_URL=f"sqlite:///{live.data_dir / 'db.sqlite3'}",
        LARDER_STORAGE_URL=f"file://{live.data_dir / 'blobs'}",
        LARDER_SECRET_KEY_FILE=str(live.data_dir / "secret_key"),
        LARDER_TRUSTED_PROXIES="10.0.0.5",
        LARDER_METRICS_TOKEN_FILE=str(tmp_path / "token"),
        LARDER_METRICS_LISTEN=f"127.0.0.1:{port}",
        LARDER_WORKER_QUEUES="notify",
    )
    worker = subprocess.Popen([sys.executable, "manage.py", "worker"], cwd=CHECKOUT, env=environment)
    address = f"http://127.0.0.1:{port}/metrics"

    def answers() -> bool:
        assert worker.poll() is None
        try:
            return httpx.get(address).status_code == 404
        except httpx.TransportError:
            return False

    try:
        eventually(answers, what="its page")
        yield address
    finally:
        worker.terminate()
        worker.wait(timeout=60)


@pytest.mark.embedded("it reads the file of the database")
def test_a_worker_tells_its_own_counts_and_version_to_who_has_the_token(url: str) -> None:
    assert httpx.get(url, headers={"Authorization": "Bearer wrong"}).status_code == 404
    assert httpx.get(url.replace("/metrics", "/"), headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 404

    answer = httpx.get(url, headers={"Authorization": f"Bearer {TOKEN}", "Host": "10.1.2.3:9464"})
    found = samples_of(answer.text)

    assert answer.status_code == 200
    names = {key[0] for key in found}
    assert "larder_build_info" in names
    assert "# TYPE larder_signatures_total counter" in answer.text
    # It reaches the database, and need not reach every other part: web servers tell of those.
    assert not names & {"larder_part_up", "larder_jobs", "larder_workers", "larder_storage_free_bytes"}
