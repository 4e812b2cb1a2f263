"""The image's commands and variables, as far as they can be tested without a container engine."""

import json
import os
import re
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.live import CHECKOUT, start_live
from tests.site.startup.test_first_run import printed_lines

DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()
HEALTHCHECK = re.findall(r'"([^"]+)"', re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)[0])
# It stands for the host's `docker`: the container's files are this machine's own.
DOCKER = """#!/bin/sh
[ "$1" = cp ] && [ "${2%%:*}" = "$(hostname)" ] && exec cp "${2#*:}" "$3"
"""
# A client that only shows that it was led to files which it can read.
TOFU = """#!/bin/sh
[ -s main.tf ] && cat "${SSL_CERT_FILE:-$TF_CLI_CONFIG_FILE}" && echo "asked to $1"
"""


def is_healthy(environment: dict[str, str]) -> bool:
    asked = [sys.executable, *HEALTHCHECK[1:]]
    return subprocess.run(asked, cwd=CHECKOUT, env=environment, timeout=60, check=False).returncode == 0


@pytest.mark.live
@pytest.mark.parametrize(("tls", "scheme"), [("auto", "https"), ("off", "http")])
def test_lines_and_health_check_follow_the_scheme(tmp_path: Path, tls: str, scheme: str) -> None:
    with start_live(tmp_path, LARDER_TLS=tls, LARDER_IN_CONTAINER="on") as larder:
        assert is_healthy(larder.environment)
        assert not is_healthy({**larder.environment, "LARDER_TLS": "auto" if tls == "off" else "off"})
        programs = tmp_path / "bin"
        programs.mkdir()
        for name, script in (("docker", DOCKER), ("tofu", TOFU)):
            (programs / name).write_text(script)
            (programs / name).chmod(0o755)
        said = subprocess.run(
            ["bash", "-eu"],
            input=printed_lines(larder.output),
            env={"PATH": f"{programs}:/usr/bin:/bin", "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert not is_healthy(larder.environment)
    assert ("BEGIN CERTIFICATE" if tls == "auto" else f"{scheme}://{larder.host}/v1/modules/") in said
    assert "asked to apply" in said
    # Neither `make` nor the checkout is outside of a container.
    assert "make trust" not in larder.output.read_text()


@pytest.mark.parametrize(
    ("listen", "tls", "url"),
    [
        ("0.0.0.0:8443", "auto", "https://127.0.0.1:8443"),
        ("0.0.0.0:8443", "off", "http://127.0.0.1:8443"),
        ("[::]:443", "auto", "https://[::1]:443"),
        ("10.0.0.7:8443", "auto", "https://10.0.0.7:8443"),
    ],
)
def test_the_public_address_is_one_that_can_be_asked(tmp_path: Path, listen: str, tls: str, url: str) -> None:
    program = "from django.conf import settings; print(settings.PUBLIC_URL)"
    variables = {"LARDER_DATA_DIR": str(tmp_path), "LARDER_LISTEN": listen, "LARDER_TLS": tls}
    environment = os.environ | variables | {"DJANGO_SETTINGS_MODULE": "registry_site.settings"}
    environment.pop("LARDER_PUBLIC_URL", None)
    asked = [sys.executable, "-c", program]
    done = subprocess.run(asked, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == url


@pytest.mark.slow
def test_the_image_holds_what_its_commands_need(tmp_path: Path) -> None:
    """The context as .dockerignore cuts it, read-only, is enough to collect static files, and has the help."""
    rules = (CHECKOUT / ".dockerignore").read_text().split()
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    assert rules[0] == "*"
    app = tmp_path / "app"
    app.mkdir()
    for name in kept:
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, app / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(CHECKOUT / name, app / name)
    assert not [name for name in ("var", ".venv", ".git", "tests") if any(fnmatch(name, rule) for rule in kept)]
    (app / "registry_site").chmod(0o555)
    app.chmod(0o555)

    environment = {"PATH": os.environ["PATH"], "LARDER_DATA_DIR": str(tmp_path / "data")}
    subprocess.run([sys.executable, "-B", "manage.py", "collect"], cwd=app, env=environment, check=True, timeout=60)

    assert (tmp_path / "data" / "static" / ".collected").is_file()
    assert (app / "docs" / "README.md").is_file()


def test_the_image_runs_as_a_number_and_has_what_signing_calls() -> None:
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    assert {"gnupg", "gpgv", "tini"} <= set(DOCKERFILE.split())


@pytest.mark.slow
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
