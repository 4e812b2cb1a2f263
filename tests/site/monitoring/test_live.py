"""/metrics of a whole Larder: counts of web process and worker, and of answers from memory."""

import json

import pytest

from tests.builders.archives import module_zip
from tests.site.monitoring.test_metrics import samples_of
from tests.site.processes import eventually

pytestmark = pytest.mark.live
ROUTE = "protocol:module-versions"


@pytest.mark.smoke
def test_this_machine_reads_the_counts_of_web_process_and_worker(live):
    token = live.token()
    with live.client(token) as client:
        client.put("/api/v1/namespaces/counted", json={"visibility": "public"})
        release = live.publish("counted/vpc/aws", "1.0.0", module_zip(), token)
        before = samples_of(client.get("/metrics", headers={"Authorization": ""}).text)
    with live.client() as client:
        for _ in range(3):
            client.get("/v1/modules/counted/vpc/aws/versions")
        # A worker writes its counts now and then.
        eventually(lambda: "larder_publishes_total{" in client.get("/metrics").text, what="the count")
        answer = client.get("/metrics")
        through_proxy = client.get("/metrics", headers={"X-Forwarded-For": "127.0.0.1"})
    after = samples_of(answer.text)

    assert release["state"] == "published"
    ready = ("larder_ready_answers_total", "200", ROUTE)
    assert after[ready] - before.get(ready, 0) == 2
    assert after["larder_publishes_total", "module", "published"] >= 1
    assert after["larder_part_up", "database"] == after["larder_workers",] == 1
    assert after["larder_certificate_expiry_seconds",] > 300 * 86400
    assert through_proxy.status_code == 404

    lines = [json.loads(line) for line in live.output.read_text().splitlines() if '"event": "request"' in line]
    reads = [line for line in lines if line["path"] == "/v1/modules/counted/vpc/aws/versions"]
    uploads = [line for line in lines if line["path"] == "/api/v1/modules/counted/vpc/aws/1.0.0"]
    assert {line["route"] for line in reads} == {ROUTE}
    assert {line["route"] for line in uploads} == {"api:module-release"}
    assert all(isinstance(line[what], int) for line in uploads for what in ("person", "release"))
