"""deploy/: Kubernetes takes the chart and systemd the units; both run the commands of Compose.

test_production.py runs those commands.
"""

import configparser
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.conftest import need
from tests.live import CHECKOUT
from tests.production import OURS

CHART = CHECKOUT / "deploy" / "helm" / "larder"
UNITS = sorted((CHECKOUT / "deploy" / "systemd").glob("*.service"))
COMMANDS = {tuple(one["command"]) for one in OURS.values()}
EVERYTHING = [
    *("--set", "publicUrl=https://registry.acme.example", "--set", "web.autoscaling.enabled=true"),
    *("--set", "ingress.enabled=true,ingress.host=registry.acme.example,ingress.tlsSecret=tls"),
    *("--set", "image.digest=sha256:abc,env.LARDER_LOG_LEVEL=DEBUG"),
]
HELM = Path(sys.executable).with_name("helm")
HARDENED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def helm(*arguments: str) -> str:
    program = HELM if HELM.exists() else need("helm")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


@cache
def rendered(*values: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(helm("template", "here", str(CHART), *values)) if one]


def pods() -> dict[str, dict[str, Any]]:
    found = {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]
        for one in rendered(*EVERYTHING)
        if "template" in one.get("spec", ())
    }
    assert len(found) == 5
    return found


def test_helm_finds_no_fault():
    assert "0 chart(s) failed" in helm(
        "lint", str(CHART), "--strict", "--set", "publicUrl=https://registry.acme.example"
    )


def test_the_public_address_is_asked_for():
    with pytest.raises(subprocess.CalledProcessError) as failed:
        helm("template", "here", str(CHART))
    assert "publicUrl is needed" in failed.value.stderr


def test_kubernetes_takes_every_document():
    documents = rendered(*EVERYTHING)
    assert {one["kind"] for one in documents} >= {
        "Deployment",
        "Job",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Ingress",
    }

    for document in documents:
        kubernetes_validate.validate(document, "1.33", strict=True)


def test_each_pod_runs_a_command_of_compose_without_any_privilege():
    for pod in pods().values():
        [container] = pod["containers"]
        assert tuple(container["args"]) in COMMANDS
        assert container["image"] == "larder@sha256:abc"
        assert container["securityContext"] == HARDENED
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False


def test_only_the_signing_worker_has_the_key_encryption_key():
    mounting = {name for name, pod in pods().items() if "signing-kek" in json.dumps(pod)}
    queues = {
        name: variable["value"]
        for name, pod in pods().items()
        for variable in pod["containers"][0]["env"]
        if variable["name"] == "LARDER_WORKER_QUEUES"
    }

    assert mounting == {"here-larder-signing-worker"}
    assert {name for name, value in queues.items() if value == "sign"} == mounting


def test_the_variables_of_the_chart_and_of_compose_are_documented():
    known = set(re.findall(r"^### `([A-Z_]+)`$", (CHECKOUT / "docs/configuration.md").read_text(), re.MULTILINE))
    named = {variable["name"] for pod in pods().values() for variable in pod["containers"][0]["env"]}
    named |= {name for one in OURS.values() for name in one["environment"]}

    assert {name for name in named if name.startswith("LARDER_")} <= known


def test_a_pod_outlives_its_requests():
    web = pods()["here-larder-web"]
    seconds = {one["name"]: one.get("value") for one in web["containers"][0]["env"]}

    stops_after = int(seconds["LARDER_DRAIN_SECONDS"]) + int(seconds["LARDER_STOP_NOTICE_SECONDS"])
    assert web["terminationGracePeriodSeconds"] > stops_after


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_each_unit_runs_a_command_of_compose(path: Path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # names of systemd have capitals
    unit.read(path)
    words = unit["Service"]["ExecStart"].split()

    assert ("python", *words[1:]) in COMMANDS
    assert ("signing" in path.name) == ("LARDER_SIGNING_KEK_FILE" in path.read_text())


def test_systemd_takes_the_units():
    said = subprocess.run(
        [need("systemd-analyze"), "verify", *UNITS], capture_output=True, text=True, check=False
    ).stderr
    # The program is not installed there on this machine.
    assert [line for line in said.splitlines() if "is not executable" not in line] == []


def test_the_bill_of_materials_names_every_package(tmp_path: Path):
    """The command of the image's target `sbom`."""
    pinned = set(
        re.findall(
            r"^([a-z0-9][a-z0-9._-]*)(?:\[[^]]*\])?==", (CHECKOUT / "requirements.txt").read_text(), re.MULTILINE
        )
    )
    [command] = re.findall(r"&& (cyclonedx-py requirements .*)$", (CHECKOUT / "Dockerfile").read_text(), re.MULTILINE)
    for container, here in {"/sbom.json": str(tmp_path / "sbom.json"), "${REQUIREMENTS}": "requirements.txt"}.items():
        command = command.replace(container, here)
    words = command.split()
    program = Path(sys.executable).with_name(words[0])
    subprocess.run([program, *words[1:]], cwd=CHECKOUT, check=True, capture_output=True)

    document = json.loads((tmp_path / "sbom.json").read_text())
    assert {one["name"] for one in document["components"]} == pinned


# --- docs/deployment.md, typed ----------------------------------------------------------------------------------------

KUBECTL = """#!/bin/sh
echo "$@" >> asked
"""
HELM_INSTALL = """#!/bin/sh
[ "$1" = install ] && shift && exec "%s" template "$@"
"""


def blocks() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", (CHECKOUT / "docs/deployment.md").read_text(), re.DOTALL)


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
    typed(blocks()[0], tmp_path)

    text = (CHECKOUT / "compose.production.yaml").read_text()
    given = dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().split())
    assert set(re.findall(r"\$\{(\w+):\?", text)) <= given.keys()
    assert all(given.values())
    for secret in yaml.safe_load(text)["secrets"].values():
        assert len((tmp_path / secret["file"]).read_text().strip()) == 64


def test_the_page_creates_the_secrets_that_the_chart_mounts(tmp_path: Path):
    typed(blocks()[1], tmp_path, kubectl=KUBECTL)

    made = re.findall(
        r"create secret generic (\S+) --from-(?:literal=(\w+)|env-file)", (tmp_path / "asked").read_text()
    )
    mounted = json.dumps([pod["volumes"] for pod in pods().values()] + [pod["containers"] for pod in pods().values()])
    assert all(f'"{name}"' in mounted for name, _ in made)
    assert all(f"/{key}" in mounted for _, key in made if key)


def test_the_page_installs_the_chart(tmp_path: Path):
    program = str(HELM if HELM.exists() else need("helm"))
    kinds = [
        one["kind"] for one in yaml.safe_load_all(typed(blocks()[2], tmp_path, helm=HELM_INSTALL % program)) if one
    ]

    assert kinds.count("Deployment") == 4
    assert "Ingress" in kinds
    assert len(blocks()) == 3
