"""Two web servers of one database, which know nothing of each other."""

import signal
import subprocess
import sys
from functools import partial

import httpx
import pytest

from tests.builders.archives import module_zip
from tests.live import CHECKOUT, Live
from tests.postgres import free_port
from tests.site.processes import eventually


@pytest.mark.live
def test_a_second_web_process_that_was_started_by_hand_answers_nothing_stale(live: Live) -> None:
    port = free_port()
    environment = {**live.environment, "LARDER_LISTEN": f"127.0.0.1:{port}"}
    versions, token = "/v1/modules/peers/vpc/local/versions", live.token()
    with live.client(token) as first:
        first.put("/api/v1/namespaces/peers", json={"visibility": "public"}).raise_for_status()
        live.publish("peers/vpc/local", "1.0.0", module_zip(), token)
        process = subprocess.Popen(
            [sys.executable, "manage.py", "web"], cwd=CHECKOUT, env=environment, stderr=subprocess.DEVNULL
        )
        try:
            with httpx.Client(base_url=f"https://127.0.0.1:{port}", verify=live.tls) as second:
                eventually(partial(answers, second), what="the second one")
                for verb, is_listed in (("yank", False), ("restore", True), ("yank", False)):
                    for _ in range(3):
                        second.get(versions)  # ready
                    url = f"/api/v1/modules/peers/vpc/local/1.0.0/{verb}"
                    first.post(url, json={"reason": "a trial"}).raise_for_status()
                    assert ('"1.0.0"' in second.get(versions).text) is is_listed, verb
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/healthz").is_success
    except httpx.TransportError:
        return False
