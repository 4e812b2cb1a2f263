"""compose.production.yaml: what waits for what, how parts are asked whether they are well, the profile `monitoring`."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.live import CHECKOUT
from tests.production import COMPOSE, OURS, interpolated
from tests.site.processes import eventually

SERVICES = COMPOSE["services"]
PROMETHEUS = yaml.safe_load((CHECKOUT / "deploy/prometheus/prometheus.yml").read_text())
ONCE = {"migrate", "roles", "bucket", "backup"}
MONITORING = {name for name, one in SERVICES.items() if one.get("profiles") == ["monitoring"]}


def test_every_part_that_serves_is_asked_whether_it_is_well() -> None:
    """Docker restarts nothing that is unwell: the checks of Larder's own processes do."""
    silent = {name for name in SERVICES.keys() - ONCE - MONITORING if "healthcheck" not in SERVICES[name]}

    assert silent == {"nginx"}
    asked = {name: SERVICES[name]["healthcheck"]["test"][-2:] for name in OURS.keys() - ONCE}
    assert asked == {name: ["--restart", "web" if name == "web" else "worker"] for name in OURS.keys() - ONCE}
    assert {SERVICES[name]["restart"] for name in asked} == {"unless-stopped"}
    [alone] = yaml.safe_load((CHECKOUT / "compose.yaml").read_text())["services"].values()
    assert (alone["healthcheck"]["test"][-2:], alone["restart"]) == (["--restart", "web"], "unless-stopped")


def test_larder_starts_after_the_parts_that_it_needs() -> None:
    for name in OURS.keys() - ONCE:
        waits = {part: one["condition"] for part, one in SERVICES[name]["depends_on"].items()}
        assert waits == {
            "roles": "service_completed_successfully",
            "bucket": "service_completed_successfully",
            "broker": "service_healthy",
        }
    assert SERVICES["nginx"]["depends_on"]["web"]["condition"] == "service_healthy"
    # An S3 elsewhere has no service here.
    assert SERVICES["bucket"]["depends_on"]["s3"] == {"condition": "service_healthy", "required": False}


def test_browsers_are_told_to_insist_on_tls_for_an_hour_unless_asked_for_more() -> None:
    assert interpolated(SERVICES["web"]["environment"]["LARDER_HSTS_SECONDS"]) == "3600"


def test_nginx_asks_again_where_the_web_servers_are() -> None:
    text = (CHECKOUT / "deploy/nginx/larder.conf").read_text()

    assert re.search(r"resolver 127\.0\.0\.11 valid=5s", text)
    assert "server web:8080 resolve" in text


@pytest.mark.needs("redis-server")
def test_redis_is_well_only_if_its_user_may_enter(tmp_path: Path) -> None:
    for service in ("broker", "cache"):
        socket, folder = tmp_path / f"{service}.sock", tmp_path / service
        folder.mkdir()
        words = [word.replace("/larder/", f"{CHECKOUT}/deploy/redis/") for word in SERVICES[service]["command"]]
        given = {name: interpolated(text) for name, text in SERVICES[service]["environment"].items()}
        own = os.environ | given | {"TMPDIR": str(folder)}
        redis = subprocess.Popen([*words, "--port", "0", "--unixsocket", str(socket), "--dir", str(folder)], env=own)
        try:
            eventually(socket.exists, what=service)
            kind, line = SERVICES[service]["healthcheck"]["test"]
            line = line.replace("$$", "$").replace("redis-cli", f"redis-cli -s {socket}")
            right, wrong = (
                subprocess.run(["sh", "-c", line], env=own | more, check=False).returncode
                for more in ({}, {"LARDER_PASSWORD": "another"})
            )
        finally:
            redis.terminate()
            redis.wait(timeout=10)
        assert (kind, right) == ("CMD-SHELL", 0)
        assert wrong != 0


@pytest.mark.needs("promtool")
def test_prometheus_takes_its_configuration_and_the_rules_beside_it() -> None:
    words = ["promtool", "check", "config", "--syntax-only", str(CHECKOUT / "deploy/prometheus/prometheus.yml")]

    said = subprocess.run(words, capture_output=True, text=True, check=False)

    assert said.returncode == 0, said.stderr
    assert [(CHECKOUT / "deploy/prometheus" / name).is_file() for name in PROMETHEUS["rule_files"]] == [True]


def test_prometheus_asks_every_process_that_answers_metrics() -> None:
    [job] = PROMETHEUS["scrape_configs"]
    asked = {(name, found["port"]) for found in job["dns_sd_configs"] for name in found["names"]}

    listens = {"web": "LARDER_LISTEN"} | dict.fromkeys(
        ("worker", "notify-worker", "upstream-worker", "signing-worker"), "LARDER_METRICS_LISTEN"
    )
    environments = {name: OURS[name]["environment"] for name in listens}
    assert asked == {(name, int(environments[name][own].rpartition(":")[2])) for name, own in listens.items()}
    for name in listens:
        assert "metrics" in SERVICES[name]["networks"]
        assert environments[name]["LARDER_METRICS_TOKEN_FILE"] == job["authorization"]["credentials_file"]
    assert job["authorization"]["credentials_file"] == f"/run/secrets/{SERVICES['prometheus']['secrets'][0]}"


def test_alerts_and_the_dashboard_reach_the_programs_that_show_them() -> None:
    mounted = dict(one.split(":")[1::-1] for name in MONITORING for one in SERVICES[name]["volumes"] if one[0] == ".")
    folders = [*(CHECKOUT / "deploy/grafana/provisioning").rglob("*.yaml")]
    dashboards, source = (yaml.safe_load(path.read_text()) for path in sorted(folders))

    assert all((CHECKOUT / here).exists() for here in mounted.values())
    path = dashboards["providers"][0]["options"]["path"]
    assert mounted[f"{path}/larder.json"] == "./deploy/grafana/larder.json"
    assert source["datasources"][0]["url"] == "http://prometheus:9090"
    assert PROMETHEUS["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"] == ["alertmanager:9093"]
    assert "--config.file=/etc/prometheus/alertmanager.yml" in SERVICES["alertmanager"]["command"]
