"""deploy/: Kubernetes takes the chart, which runs the commands of Compose; in both, parts meet only whom they need.

test_production.py runs those commands, test_chart.py has the chart's values.
"""

import json
import re
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import charts, documents
from tests.charts import rendered
from tests.live import CHECKOUT
from tests.production import COMPOSE, OURS
from tests.programs import HELM

COMPOSE_NETWORKS = {
    "nginx": {"entrance", "edge"},
    "web": {"edge", "database", "broker", "cache", "storage", "metrics", "outside"},
    "worker": {"database", "broker", "storage", "metrics"},
    "notify-worker": {"database", "broker", "metrics", "outside"},
    "upstream-worker": {"database", "broker", "storage", "metrics", "outside"},
    "signing-worker": {"database", "broker", "storage", "metrics", "kms"},
    "migrate": {"database"},
    "roles": {"database"},
    "backup": {"database", "storage", "outside"},
    "bucket": {"storage"},
    "postgres": {"database"},
    "s3": {"storage"},
    "broker": {"broker"},
    "cache": {"cache"},
    "prometheus": {"metrics"},
    "alertmanager": {"metrics", "outside"},
    "grafana": {"metrics", "entrance"},
}
# Parts of a NetworkPolicy, as in values.yaml, by their labels in tests.
PARTS = ("database", "broker", "cache", "storage", "kms", "outside", "upstream", "backup")
COMMANDS = {tuple(one["command"]) for one in OURS.values()}
# Of the chart alone.
BACKUP, TEST = ("python", "manage.py", "backup"), ("python", "-m", "registry_site.healthcheck", "ready")
EVERYTHING = [
    *("--set", "publicUrl=https://registry.acme.example", "--set", "web.autoscaling.enabled=true"),
    *("--set", "ingress.enabled=true,ingress.tlsSecret=tls,trustedProxies=10.0.3.7"),
    *("--set", "image.digest=sha256:abc,env.LARDER_LOG_LEVEL=DEBUG"),
    *("--set", "backup.enabled=true,backup.existingClaim=backups"),
    *("--set", "networkPolicy.kms.ports={443}"),
    *(word for part in PARTS for word in ("--set", f"networkPolicy.{part}.to[0].podSelector.matchLabels.part={part}")),
]
pytestmark = pytest.mark.needs("helm")
SIGNING = "here-larder-signing-worker"
COMPOSE_TEXT = (CHECKOUT / "compose.production.yaml").read_text()
HARDENED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def pods() -> dict[str, dict[str, Any]]:
    found = charts.pods(rendered(*EVERYTHING))
    assert found.keys() == COMPOSE_NETWORKS.keys() & OURS.keys() - {"bucket"} | {"backup", "test"}
    return found


def test_each_pod_runs_a_command_of_compose_without_any_privilege():
    for pod in pods().values():
        [container] = pod["containers"]
        assert tuple(container["args"]) in {*COMMANDS, (*BACKUP, "/backup/$(POD_NAME)"), TEST}
        assert container["image"] == "larder@sha256:abc"
        assert container["securityContext"] == HARDENED
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False


def test_each_component_asks_and_is_asked_only_as_it_needs() -> None:
    """Both directions: who is not named may not. Compose and the chart let the same ones meet."""
    found = {}
    for one in rendered(*EVERYTHING):
        if one["kind"] == "NetworkPolicy":
            spec = one["spec"]
            assert sorted(spec["policyTypes"]) == ["Egress", "Ingress"]
            asked, *rules = spec["egress"]
            assert {port["port"] for port in asked["ports"]} == {53}
            to = [rule["to"][0]["podSelector"]["matchLabels"] for rule in rules]
            parts = [one.get("part") or one["app.kubernetes.io/component"] for one in to]
            found[spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"]] = set(parts)
            assert bool(spec["ingress"]) == (one["metadata"]["name"] == "here-larder-web")

    assert found.keys() == pods().keys()
    assert found.pop("backup") == {"database", "storage", "backup"}
    assert found.pop("test") == {"web"}
    # Docker's networks do not filter by address: there the registries are as far outside as a webhook.
    assert found["upstream-worker"] == {"database", "broker", "storage", "upstream"}
    found["upstream-worker"] ^= {"upstream", "outside"}
    assert found == {name: COMPOSE_NETWORKS[name] - {"edge", "metrics"} for name in found}
    assert found["signing-worker"] == {"database", "broker", "storage", "kms"}


def test_a_policy_asks_nowhere_for_what_has_no_port() -> None:
    """Without a key management service the signing worker has one rule less."""
    values = ("--set", "publicUrl=https://registry.acme.example,image.digest=sha256:abc")
    [policy] = [
        one for one in rendered(*values) if (one["kind"], one["metadata"]["name"]) == ("NetworkPolicy", SIGNING)
    ]
    ports = [port["port"] for rule in policy["spec"]["egress"][1:] for port in rule["ports"]]
    assert ports == [5432, 6379, 443]


def test_each_role_of_the_database_has_its_own_secret() -> None:
    found: dict[str, set[str]] = {}
    for name, pod in pods().items():
        role = [one["secretRef"]["name"] for one in pod["containers"][0]["envFrom"]][-1]
        found.setdefault(role, set()).add(name)

    assert found == {
        "larder": {"test"},  # the secret of all
        "larder-owner": {"migrate", "roles", "backup"},
        "larder-web": {"web", "worker", "notify-worker", "upstream-worker"},
        "larder-signing": {"signing-worker"},
    }
    assert pods()["signing-worker"]["serviceAccountName"] == "here-larder-signing"


def test_one_role_for_all_needs_no_secret_of_its_own() -> None:
    alone = [f"existingSecrets.{role}=" for role in ("owner", "web", "signing")]
    documents = rendered(*EVERYTHING, "--set", ",".join(alone))

    assert charts.pods(documents).keys() == pods().keys() - {"roles"}
    assert {len(one["envFrom"]) for one in charts.containers(documents).values()} == {1}


def test_only_the_signing_worker_has_the_key_encryption_key():
    mounting = {name for name, pod in pods().items() if "signing-kek" in json.dumps(pod)}
    queues = {name: one["LARDER_WORKER_QUEUES"] for name, one in charts.variables(rendered(*EVERYTHING)).items()}

    assert mounting == {"signing-worker"}
    assert {name for name, value in queues.items() if value == "sign"} == mounting
    assert queues["worker"] == "check"
    assert queues["notify-worker"] == "notify"
    assert queues["upstream-worker"] == "upstream"


def test_no_container_is_on_a_network_that_it_does_not_need() -> None:
    found = {name: set(one["networks"]) for name, one in COMPOSE["services"].items()}
    inside = {name for name, one in COMPOSE["networks"].items() if one and one["internal"]}

    assert found == COMPOSE_NETWORKS
    assert COMPOSE["networks"].keys() - inside == {"entrance", "outside"}


def test_no_password_is_written_into_compose_or_the_users_of_redis() -> None:
    secrets = re.findall(r"://\w+:(.+?)@|_(?:PASSWORD|KEY|ACCESS_KEY|KEY_ID): *(.+)", COMPOSE_TEXT)
    users = [line for path in (CHECKOUT / "deploy/redis").glob("*.acl") for line in path.read_text().splitlines()]

    assert len(secrets) > 10
    assert all((url or value).startswith("${") for url, value in secrets)
    assert all(
        line == "user default off" or re.match(r"user \w+ on #[A-Z]+_DIGEST resetchannels ~", line) for line in users
    )


def test_larder_trusts_the_address_of_nginx_alone() -> None:
    [range_] = COMPOSE["networks"]["edge"]["ipam"]["config"]
    own = COMPOSE["services"]["nginx"]["networks"]["edge"]["ipv4_address"]

    assert {one["environment"]["LARDER_TRUSTED_PROXIES"] for one in OURS.values()} == {own}
    assert ip_address(own) in ip_network(range_["subnet"])
    # What Docker gives to the others.
    assert ip_address(own) not in ip_network(range_["ip_range"])


def test_the_variables_of_the_chart_and_of_compose_are_documented():
    known = set(re.findall(r"^## `([A-Z_]+)`$", documents.configuration(), re.MULTILINE))
    named = {variable["name"] for pod in pods().values() for variable in pod["containers"][0]["env"]}
    named |= {name for one in OURS.values() for name in one["environment"]}

    assert {name for name in named if name.startswith("LARDER_")} <= known


def test_a_pod_outlives_its_requests():
    web = pods()["web"]
    seconds = {one["name"]: one.get("value") for one in web["containers"][0]["env"]}

    stops_after = int(seconds["LARDER_DRAIN_SECONDS"]) + int(seconds["LARDER_STOP_NOTICE_SECONDS"])
    assert web["terminationGracePeriodSeconds"] > stops_after


# --- docs/deployment.md, typed ----------------------------------------------------------------------------------------

KUBECTL = """#!/bin/sh
echo "$@" >> asked
"""
HELM_INSTALL = """#!/bin/sh
[ "$1" = install ] && shift && exec "%s" template "$@"
"""


def block_of(test: str) -> str:
    """The block of the page that this test executes."""
    [block] = documents.run_by(f"tests/site/startup/test_deploy.py::{test}", "docs/deployment.md")
    return block.text


def typed(block: str, folder: Path, **programs: str) -> str:
    """In a folder with the checkout's deploy/, and these programs on the PATH."""
    (folder / "bin").mkdir()
    (folder / "deploy").symlink_to(CHECKOUT / "deploy")
    for name, script in programs.items():
        (folder / "bin" / name).write_text(script)
        (folder / "bin" / name).chmod(0o755)
    environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
    words = ["bash", "-eu", "-c", block]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_the_page_prepares_what_compose_asks_for(tmp_path: Path):
    typed(block_of("test_the_page_prepares_what_compose_asks_for"), tmp_path)

    text = (CHECKOUT / "compose.production.yaml").read_text()
    given = dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().split())
    assert set(re.findall(r"\$\{(\w+):\?", text)) <= given.keys()
    assert all(given.values())
    for secret in yaml.safe_load(text)["secrets"].values():
        assert len((tmp_path / secret["file"]).read_text().strip()) == 64


def test_the_page_creates_the_secrets_that_the_chart_mounts(tmp_path: Path):
    typed(block_of("test_the_page_creates_the_secrets_that_the_chart_mounts"), tmp_path, kubectl=KUBECTL)

    made = re.findall(
        r"create secret generic (\S+) --from-(?:literal=(\w+)|env-file)", (tmp_path / "asked").read_text()
    )
    mounted = json.dumps([pod["volumes"] for pod in pods().values()] + [pod["containers"] for pod in pods().values()])
    assert all(f'"{name}"' in mounted for name, _ in made)
    assert all(f"/{key}" in mounted for _, key in made if key)


def test_the_page_installs_the_chart(tmp_path: Path):
    manifests = typed(block_of("test_the_page_installs_the_chart"), tmp_path, helm=HELM_INSTALL % HELM)
    kinds = [one["kind"] for one in yaml.safe_load_all(manifests) if one]

    assert kinds.count("Deployment") == 5
    assert "Ingress" in kinds
