"""Uploads that continue, with real clients: tuspy, and the shell of docs/uploads.md."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import pytest

from tests.builders.archives import MODULE, module_zip
from tests.builders.line import a_line
from tests.live import CHECKOUT, wait_until_ready
from tests.site.processes import child

pytestmark = pytest.mark.live
MIB = 1024 * 1024
TUSPY = """
import sys
from tusclient.client import TusClient

url, token, path, digest = sys.argv[1:]
client = TusClient(url, headers={"Authorization": f"Bearer {token}"})
uploader = client.uploader(path, retries=60, retry_delay=1, metadata={"sha256": digest})
uploader.set_url(uploader.create_url())
print(uploader.url, flush=True)
uploader.upload()
"""


def memory_of(process: int, field: str) -> int:
    """VmRSS or VmHWM, the most so far, in bytes."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def another_web_process(live, than: int) -> int:
    deadline = time.monotonic() + 60
    while (found := child(live.process.pid, "web")) in (None, than):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert found is not None
    wait_until_ready(live)
    return found


def test_tuspy_continues_a_large_file_after_the_server_was_killed_in_its_middle(live, shelf, tmp_path):
    path = tmp_path / "package.zip"
    path.write_bytes(os.urandom(80 * MIB))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    draft = "/api/v1/providers/acme/resumed/1.0.0"
    name = "terraform-provider-resumed_1.0.0_linux_amd64.zip"
    web = child(live.process.pid, "web")
    assert web is not None
    with live.client(shelf.manage) as client, a_line() as line:
        assert client.post(draft).status_code == 201
        # Two parts of 32 MiB have passed, so at least one of them is recorded.
        line.cut_after(68 * MIB, lambda: os.kill(web, signal.SIGKILL))
        begin = f"{live.url}{draft}/files/{name}/uploads"
        command = [sys.executable, "-c", TUSPY, begin, shelf.manage, str(path), digest]
        environment = {**os.environ, "REQUESTS_CA_BUNDLE": str(live.ca_bundle), "HTTPS_PROXY": line.url}
        with subprocess.Popen(command, env=environment, stdout=PIPE, stderr=PIPE, text=True) as tuspy:
            assert tuspy.stdout is not None
            upload = tuspy.stdout.readline().strip()
            restarted = another_web_process(live, web)
            before = memory_of(restarted, "VmRSS")
            assert int(client.head(upload).headers["Upload-Offset"]) >= 32 * MIB
            _, errors = tuspy.communicate(timeout=120)
        assert tuspy.returncode == 0, errors

        assert [file["digest"] for file in client.get(draft).json()["files"]] == [f"sha256:{digest}"]
        assert memory_of(restarted, "VmHWM") - before < 40 * MIB
        assert client.delete(draft).status_code == 204


@pytest.mark.needs("curl")
@pytest.mark.smoke
def test_the_shell_of_the_docs_publishes_a_module(live, shelf, tmp_path):
    """Over a line that breaks."""
    text = (CHECKOUT / "docs/uploads.md").read_text()
    script = text.partition("```sh\n")[2].partition("```")[0]
    name = "shelled"
    data = module_zip({**MODULE, "noise.bin": os.urandom(3 * MIB)})
    (tmp_path / "vpc.zip").write_bytes(data)
    script = script.replace("vpc/aws/1.2.0", f"{name}/local/1.0.0").replace("sleep 5", "sleep 0")
    with a_line() as line:
        environment = {
            **os.environ,
            "REGISTRY": live.url,
            "TOKEN": shelf.manage,
            "CURL_CA_BUNDLE": str(live.ca_bundle),
            "HTTPS_PROXY": line.url,
        }
        line.cut_after(2 * MIB, line.drop)
        done = subprocess.run(
            ["sh", "-eu", "-c", script], cwd=tmp_path, env=environment, stderr=PIPE, text=True, timeout=120, check=False
        )
    assert done.returncode == 0, done.stderr
    with live.client(shelf.manage) as client:
        document = live.wait_for(client, f"/api/v1/modules/acme/{name}/local/1.0.0")
    assert document["state"] == "published"
    assert document["uploaded_digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
