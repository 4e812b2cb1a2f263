"""A Python client that openapi-python-client generates from the schema publishes, waits and yanks."""

import importlib
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings

from tests.builders.archives import module_zip
from tests.live import Live

pytestmark = pytest.mark.live
PACKAGE = "larder_client"


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    config = tmp_path / "config.yml"
    # It does not know tus's name for bytes.
    bytes_of_tus = "content_type_overrides:\n  application/offset+octet-stream: application/octet-stream\n"
    config.write_text(f"package_name_override: {PACKAGE}\npost_hooks: []\n{bytes_of_tus}")
    done = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("openapi-python-client")), "generate", "--meta", "none"),
            *("--path", str(settings.OPENAPI_FILE), "--output-path", str(tmp_path / PACKAGE), "--config", str(config)),
            "--fail-on-warning",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    return importlib.import_module(PACKAGE)


def test_a_generated_client_publishes_and_yanks(live: Live, generated: ModuleType) -> None:
    client: Any = generated.AuthenticatedClient(base_url=live.url, token=live.token(), verify_ssl=live.tls)
    with client:
        walk(client)


def walk(client: Any) -> None:
    def call(tag: str, operation: str, *arguments: str, **more: Any) -> Any:
        """The parsed answer; a Problem is one too."""
        return importlib.import_module(f"{PACKAGE}.api.{tag}.{operation}").sync(*arguments, client=client, **more)

    models, types = (importlib.import_module(f"{PACKAGE}.{name}") for name in ("models", "types"))
    me = call("me", "get_me")
    assert (me.user, me.staff, me.token.scope) == ("admin", True, "manage")

    body = models.NamespaceInput(visibility=models.NamespaceInputVisibility("private"))
    assert call("namespaces", "put_namespace", "generated", body=body).role == "owner"
    where = ("generated", "vpc", "aws")
    archive = types.File(payload=BytesIO(module_zip(comment=b"generated")))
    release = call("modules", "put_module_release", *where, "1.0.0", body=archive)
    while release.state != "published":
        assert release.state in ("received", "checking"), release
        time.sleep(0.1)
        release = call("releases", "get_release", str(release.id))
    assert [one.version for one in call("modules", "get_module_versions", *where).versions] == ["1.0.0"]
    (listed,) = call("modules", "get_modules", namespace="generated").modules
    assert (listed.name, listed.system, listed.version) == ("vpc", "aws", "1.0.0")

    yanked = call("modules", "post_module_yank", *where, "1.0.0", body=models.ReasonInput(reason="It loses a subnet."))
    assert (yanked.lifecycle.state, yanked.lifecycle.reason, yanked.lifecycle.by) == (
        "yanked",
        "It loses a subnet.",
        "admin",
    )
    again = call("modules", "post_module_yank", *where, "1.0.0", body=models.ReasonInput(reason="Again."))
    assert isinstance(again, models.Problem)
    assert "is yanked since" in again.error.message
