"""The image's commands and variables, as far as they can be tested without a container engine."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from fnmatch import fnmatch
from pathlib import Path

import botocore
import pytest

from tests import rooms
from tests.builders.archives import module_zip
from tests.flows.crashing import make_key
from tests.house.sources import python_files
from tests.live import CHECKOUT, start_live
from tests.mounts import as_in_a_container
from tests.rows import for_each_row
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
def test_the_printed_lines_and_the_health_check_are_those_of_a_container(tmp_path: Path) -> None:
    with start_live(tmp_path, why="it is told that it is in a container", LARDER_IN_CONTAINER="on") as larder:
        assert is_healthy(larder.environment)
        assert not is_healthy({**larder.environment, "LARDER_TLS": "off"})
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
    assert "BEGIN CERTIFICATE" in said
    assert "asked to apply" in said
    # Neither `make` nor the checkout is outside of a container.
    assert "make trust" not in larder.output.read_text()


@pytest.mark.slow
@for_each_row(
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
            shutil.copytree(CHECKOUT / name, app / name, ignore=shutil.ignore_patterns("__pycache__", "tests"))
        else:
            shutil.copy2(CHECKOUT / name, app / name)
    assert not [name for name in ("var", ".venv", ".git", "tests") if any(fnmatch(name, rule) for rule in kept)]
    [write] = re.findall(
        r"^RUN /venv/bin/python (registry_site/version.py --write) \"\$\{VERSION\}\"", DOCKERFILE, re.MULTILINE
    )
    subprocess.run([sys.executable, *write.split(), "1.2.0-3-g1a2b3c4"], cwd=app, check=True)
    (app / "registry_site").chmod(0o555)
    app.chmod(0o555)

    environment = {"PATH": os.environ["PATH"], "LARDER_DATA_DIR": str(tmp_path / "data")}
    subprocess.run([sys.executable, "-B", "manage.py", "collect"], cwd=app, env=environment, check=True, timeout=60)
    program = "from django.conf import settings; print(settings.VERSION)"
    environment |= {"DJANGO_SETTINGS_MODULE": "registry_site.settings"}
    words = [sys.executable, "-B", "-c", program]
    done = subprocess.run(words, cwd=app, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.2.0-3-g1a2b3c4"

    assert (tmp_path / "data" / "static" / ".collected").is_file()
    assert (app / "docs" / "README.md").is_file()


def test_the_image_runs_as_a_number_and_has_what_signing_calls() -> None:
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    assert {"gnupg", "gpgv", "tini"} <= set(DOCKERFILE.split())


def instructions() -> list[tuple[str, str]]:
    """Of the whole file: lines that continue are one, without comments."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    return [
        (line.split(" ", 1)[0], " ".join(line.split(" ", 1)[1].split())) for line in text.splitlines() if line.strip()
    ]


def test_each_base_is_named_by_its_digest() -> None:
    defaults = dict(one.split("=", 1) for name, one in instructions() if name == "ARG" and "=" in one)
    bases = [words.split() for name, words in instructions() if name == "FROM"]
    stages = {words[2] for words in bases if words[1:2] == ["AS"]} | {"scratch"}

    assert {words[0] for words in bases} - stages == {"python:${PYTHON}@${PYTHON_DIGEST}"}
    assert re.fullmatch("sha256:[0-9a-f]{64}", defaults["PYTHON_DIGEST"])
    assert defaults["PYTHON"].startswith("3.13-slim-")


def test_the_labels_say_which_commit_it_is() -> None:
    """bin/image gives the arguments: test_image.py."""
    [labels] = [words for name, words in instructions() if name == "LABEL"]
    found = dict(re.findall(r'org\.opencontainers\.image\.([\w.]+)="([^"]*)"', labels))
    of_the_build = {name: value for name, value in found.items() if "${" in value}

    assert found["licenses"] == "Apache-2.0"
    assert of_the_build == {
        "version": "${VERSION}",
        "revision": "${REVISION}",
        "created": "${CREATED}",
        "source": "${SOURCE}",
        "base.name": "docker.io/library/python:${PYTHON}",
        "base.digest": "${PYTHON_DIGEST}",
    }
    # An argument counts in the stage that declares it.
    names = [name for name, _ in instructions()]
    last = len(names) - names[::-1].index("FROM")
    declared = {words.split("=")[0] for name, words in instructions()[last:] if name == "ARG"}
    assert set(re.findall(r"\$\{(\w+)\}", labels)) <= declared


def test_what_runs_has_no_pip() -> None:
    """Nor the wheel of pip that ensurepip brings."""
    last = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
    removed = re.findall(r"/usr/local/\S+", last)

    assert "python -m venv --without-pip /venv" in DOCKERFILE
    assert {name.replace("3.*", "3.13") for name in removed} == {
        "/usr/local/bin/pip*",
        "/usr/local/lib/python3.13/site-packages/pip*",
        "/usr/local/lib/python3.13/ensurepip",
    }
    assert not [line for line in last.splitlines() if "pip install" in line]


def test_its_commands_need_no_shell() -> None:
    run = {name: words for name, words in instructions() if name in ("ENTRYPOINT", "CMD", "HEALTHCHECK")}

    assert len(run) == 3
    assert all(json.loads(words[words.index("[") :]) for words in run.values())


@pytest.mark.live
@pytest.mark.needs("mounts")
@pytest.mark.embedded("looks at the mounts of one machine")
def test_it_runs_on_a_read_only_root_without_a_shell_or_pip(tmp_path: Path) -> None:
    """It runs like the image under read_only: it starts, serves, checks a module, and makes a signing key with gpg."""
    data, code = tmp_path / "data", Path(sysconfig.get_path("purelib"))
    shells = {Path(name).resolve() for name in ("/bin/sh", "/bin/bash", "/bin/dash") if Path(name).exists()}
    pips = [code / "pip" / "__init__.py", code / "pip" / "__main__.py"]
    hidden = [*shells, *(one for one in pips if one.exists())]
    (data / "tmp").mkdir(parents=True, mode=0o700)
    within = as_in_a_container(data, CHECKOUT, hidden)
    with start_live(
        tmp_path,
        why="its root is read-only, without a shell",
        within=within,
        TMPDIR=str(data / "tmp"),
        LARDER_IN_CONTAINER="on",
    ) as larder:
        seen = Path(f"/proc/{larder.process.pid}/root")
        for folder in (CHECKOUT, code, Path("/var/tmp")):
            with pytest.raises(OSError, match="Read-only"):
                (seen / folder.relative_to("/") / "written").touch()
        assert not any((seen / shell.relative_to("/")).is_file() for shell in shells)
        token = larder.token()
        with larder.client(token) as client:
            make_key(client, "acme", "ed25519")
        assert larder.publish("acme/vpc/aws", "1.0.0", module_zip(), token)["state"] == "published"


@pytest.mark.nightly
@pytest.mark.slow
def test_storage_and_keys_need_no_other_service_of_botocore(tmp_path: Path) -> None:
    """With the files that the Dockerfile's own command leaves."""
    [command] = re.findall(r"^RUN (find /venv\S*botocore/data .*?\n.*)$", DOCKERFILE, re.MULTILINE)
    shutil.copytree(Path(botocore.__file__).parent, tmp_path / "botocore")
    data = tmp_path / "botocore" / "data"
    pruned = re.sub(r"/venv\S*botocore/data", str(data), command)
    subprocess.run(["sh", "-euc", pruned], check=True)
    kept = {path.name for path in data.iterdir() if path.is_dir()}
    assert kept == {"s3", "kms", "sts", "sso", "sso-oidc", "signin"}
    assert sum(file.stat().st_size for file in data.rglob("*") if file.is_file()) < 4_000_000

    # Its own run, of which this one knows the outcome alone.
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "LARDER_TEST_FAIL"))}
    environment = outer | {"PYTHONPATH": str(tmp_path)}
    program = f"import boto3; [boto3.client(name, region_name='eu-central-1') for name in {sorted(kept)}]"
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    tests = ["tests/blobs/test_s3.py", *rooms.entries("TESTS_OF_AWS")]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    done = subprocess.run(words, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d\d passed", done.stdout, re.MULTILINE), done.stdout


def test_the_code_asks_no_other_service_of_aws() -> None:
    code = "\n".join(path.read_text() for path in python_files("apps"))
    asked = set(re.findall(r"\.(?:client|resource|create_client)\(\s*['\"]([\w-]+)['\"]", code))

    assert asked == {"kms"}  # and S3, by django-storages


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
