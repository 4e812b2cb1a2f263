"""`manage.py drain`: a host leaves its load balancer while it goes on serving, and stops."""

import subprocess
import sys
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from registry_site.server import probes
from registry_site.server.serving import PID_FILE


@pytest.fixture(autouse=True)
def as_before():
    yield
    probes.DRAINING.unlink(missing_ok=True)
    (settings.DATA_DIR / PID_FILE).unlink(missing_ok=True)


def test_readyz_says_stopping_and_everything_else_goes_on(client, transactional_db):
    call_command("drain", stdout=StringIO())
    probe = client.get("/readyz")
    assert (probe.status_code, probe.json()["status"]) == (503, "stopping")
    assert client.get("/healthz").status_code == client.get("/.well-known/terraform.json").status_code == 200

    call_command("drain", "--undo", stdout=StringIO())
    assert client.get("/readyz").status_code == 200


def test_it_stops_the_web_process_of_this_data_folder_and_no_other():
    # A process that looks like the web server and ends at SIGTERM.
    web = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()", "manage.py", "web"])
    other = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        (settings.DATA_DIR / PID_FILE).write_text(str(other.pid))  # given again to somebody else's process
        with pytest.raises(CommandError, match="No web process runs"):
            call_command("drain", "--stop", "--seconds", "0", stdout=StringIO())

        (settings.DATA_DIR / PID_FILE).write_text(str(web.pid))
        out = StringIO()
        reaper = subprocess.Popen(["true"])
        reaper.wait()
        call_command("drain", "--stop", "--seconds", "0", stdout=out)
        assert f"Process {web.pid} has ended." in out.getvalue()
        assert not probes.DRAINING.exists()
        assert other.poll() is None
    finally:
        web.kill()
        other.kill()
        web.wait()
        other.wait()
