"""The two commands of the README, from a fresh copy of the checkout and an empty home."""

import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from registry_site.startup import startup_message
from tests.live import CHECKOUT
from tests.needs import needs
from tests.postgres import free_port
from tests.site.processes import descendants, eventually, parents
from tests.site.startup.test_first_run import paste, printed_lines


@pytest.fixture
@needs("repository")
def clone(tmp_path: Path) -> Path:
    """The files of a clone, with uncommitted changes."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    copy = tmp_path / "larder"
    for name in filter(None, listed.split("\0")):
        if (CHECKOUT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, copy / name)
    return copy


def record(screen: int, output: Path) -> None:
    """Write what a terminal shows to a file, until its last writer is gone."""
    with output.open("wb", buffering=0) as sink, contextlib.suppress(OSError), open(screen, "rb", buffering=0) as shown:
        while data := shown.read(65536):
            sink.write(data.replace(b"\r\n", b"\n"))


def look_at(text: str) -> None:
    """On a terminal: a line for each stage, no log but warnings, and the message at the end."""
    log, _, after = text.partition("Larder is ready: ")
    stages = ("Preparing the database", "Collecting static files", "Starting web, worker", "Publishing the demo module")
    assert [stage for stage in stages if f"\n{stage}" in log] == list(stages)
    assert '{"' not in text
    assert "[info]" not in text
    last = r"Sign in as admin with the password \S+\n" + startup_message.RULE
    assert re.search(f"{last}$", after.rstrip()), "the message is the last on the screen"


def type_the_readme(clone: Path, listen: str, environment: dict[str, str]) -> None:
    """Paste the README's lines that publish a module and a provider, and install both."""
    readme = (clone / "README.md").read_text().replace("127.0.0.1:8443", listen)
    lines = "".join(re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)[1:])
    is_published = """grep -q '"state": *"published"'"""
    module = "$larder/api/v1/modules/acme/vpc/aws/1.0.0"
    wait = f"until api {module} | {is_published} && api $version | {is_published}; do sleep 0.2; done"
    subprocess.run(["bash", "-eu"], input=lines + wait, cwd=clone, env=environment, text=True, check=True, timeout=60)
    work = clone / "work"
    work.mkdir()
    (work / "main.tf").write_text("\n".join(re.findall(r"```hcl\n(.*?)```", readme, re.DOTALL)))
    trust = {"SSL_CERT_FILE": str(clone / "var" / "tls" / "bundle.pem"), "CHECKPOINT_DISABLE": "1"}
    subprocess.run(["terraform", "init", "-input=false"], cwd=work, env=environment | trust, check=True, timeout=60)


@pytest.mark.live
@pytest.mark.timeout(600)
@pytest.mark.needs("terraform", "make")
def test_make_run_from_a_fresh_clone_ends_in_apply_complete(clone: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    output = tmp_path / "output.txt"
    output.touch()  # the thread that writes it may begin late
    listen = f"127.0.0.1:{free_port()}"
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LARDER_LISTEN": listen}
    screen, device = pty.openpty()
    make = subprocess.Popen(
        ["make", "run"], cwd=clone, env=environment, stdout=device, stderr=device, start_new_session=True
    )
    os.close(device)
    threading.Thread(target=record, args=(screen, output), daemon=True).start()
    try:
        eventually(lambda: "Ctrl-C stops it." in output.read_text() or make.poll() is not None, seconds=400)
        assert make.poll() is None, output.read_text()[-3000:]
        look_at(output.read_text())
        assert "Apply complete!" in paste(printed_lines(output), tmp_path, client="terraform")
        type_the_readme(clone, listen, environment)
        everyone = descendants(make.pid)
    finally:
        # Ctrl-C: the terminal sends it to the whole foreground group.
        os.killpg(make.pid, signal.SIGINT)
        make.wait(timeout=60)
    eventually(lambda: not everyone & parents().keys())
    assert "Larder has stopped." in output.read_text()
