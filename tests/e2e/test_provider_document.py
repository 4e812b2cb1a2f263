"""docs/providers.md: the commands for a newcomer, pasted."""

import os
import subprocess

import pytest

from tests.live import CHECKOUT

pytestmark = pytest.mark.live


@pytest.mark.needs("terraform", "curl")
@pytest.mark.smoke
def test_the_lines_of_the_document_publish_and_install_a_provider(live, tmp_path):
    text = (CHECKOUT / "docs/providers.md").read_text()
    lines = text.partition("```sh\n")[2].partition("```")[0]
    environment = {**live.environment, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "CHECKPOINT_DISABLE": "1"}
    done = subprocess.run(
        ["sh", "-eu", "-c", lines],
        cwd=CHECKOUT,
        env={**environment, "PATH": os.environ["PATH"], "TF_IN_AUTOMATION": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert '"state":"published"' in done.stdout
    assert f"Installed {live.host}/kitchen/whisk v1.0.0 (self-signed, key ID " in done.stdout
    assert done.stdout.count('"zh:') == 2
