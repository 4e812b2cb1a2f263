"""A Larder whose processes have the roles of `manage.py database_roles`: everything works, from the first start on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest

from tests import postgres, stack
from tests.builders.archives import module_zip
from tests.flows.crashing import check_signature, hand_in, make_key
from tests.live import ADMIN_PASSWORD, CHECKOUT, Live
from tests.postgres import free_port
from tests.site.processes import eventually

pytestmark = [
    pytest.mark.live,
    pytest.mark.needs("postgres", "redis-server"),
]

WHO_SIGNED = "SELECT count(*) FROM audit_auditevent WHERE kind = 'namespace:release:signed'"


@dataclass
class Roles:
    live: Live
    owner: str  # the URLs of its database
    web: str
    signing: str
    folder: Path

    def said(self) -> str:
        return "\n".join(path.read_text() for path in self.folder.glob("*.log"))


@pytest.fixture(scope="module")
def larder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roles]:
    folder = tmp_path_factory.mktemp("roles")
    server = postgres.Server()
    with psycopg.connect(server.url, autocommit=True) as database:
        database.execute("CREATE ROLE larder_owner LOGIN")
        database.execute("CREATE ROLE larder_web LOGIN")
        database.execute("CREATE ROLE larder_signing LOGIN")
        database.execute("CREATE DATABASE larder OWNER larder_owner")
    host = server.url.partition("@")[2].partition("/")[0]
    owner, web, signing = (f"postgres://larder_{name}@{host}/larder" for name in ("owner", "web", "signing"))
    port, data_dir = free_port(), folder / "data"
    data_dir.mkdir(mode=0o700)
    (data_dir / "secret_key").write_text("correct horse battery staple and more\n")
    inherited = {name: text for name, text in os.environ.items() if not name.startswith(("LARDER_", "DJANGO_"))}
    environment = inherited | {
        "LARDER_DATA_DIR": str(data_dir),
        "LARDER_LISTEN": f"127.0.0.1:{port}",
        "LARDER_TLS": "off",
        "LARDER_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "LARDER_BROKER_URL": f"redis://127.0.0.1:{stack.redis_port()}/{next(stack.DATABASES)}",
        "LARDER_INSTANCES": "2",  # counts rate limits in the database
        "LARDER_WORKER_QUEUES": "check notify",
        "LARDER_WORKER_CONCURRENCY": "1",
        "LARDER_STOP_NOTICE_SECONDS": "0",
    }
    with ExitStack() as processes:
        processes.callback(server.stop_at_once)

        def start(name: str, words: list[str], url: str, **more: str) -> "subprocess.Popen[bytes]":
            sink = processes.enter_context((folder / f"{name}.log").open("wb"))
            own = environment | {"LARDER_DATABASE_URL": url} | more
            command = [sys.executable, "manage.py", *words]
            process = subprocess.Popen(command, cwd=CHECKOUT, env=own, stdout=sink, stderr=sink)
            processes.callback(process.wait, 60)
            processes.callback(process.terminate)
            return process

        migrating = start("migrate", ["migrate", "--verbosity", "0"], owner, LARDER_ADMIN_PASSWORD=ADMIN_PASSWORD)
        assert migrating.wait(120) == 0, (folder / "migrate.log").read_text()
        names = ["--web", "larder_web", "--signing", "larder_signing"]
        assert start("roles", ["database_roles", *names], owner).wait(60) == 0, (folder / "roles.log").read_text()
        serving = start("web", ["web"], web)
        start("worker", ["worker", "--beat"], web)
        start("signing", ["worker"], signing, LARDER_WORKER_QUEUES="sign")
        own, url = environment | {"LARDER_DATABASE_URL": web}, environment["LARDER_PUBLIC_URL"]
        live = Live(url, f"127.0.0.1:{port}", data_dir, own, serving, folder / "web.log")
        found = Roles(live, owner, web, signing, folder)
        eventually(lambda: is_ready(live), seconds=90, what="Larder")
        try:
            yield found
        finally:
            if "commands" in vars(live):
                live.commands.communicate()


def is_ready(live: Live) -> bool:
    try:
        with live.client() as client:
            answer = client.get("/readyz")
    except httpx.TransportError:
        return False
    return answer.status_code == 200 and not answer.json()["warnings"]


def test_a_provider_is_published_and_signed_by_the_other_role(larder: Roles, tmp_path: Path) -> None:
    token = larder.live.token()
    with larder.live.client(token) as client:
        make_key(client, "acme", "ed25519")
        module = larder.live.publish("acme/vpc/aws", "1.0.0", module_zip(), token)
        provider = larder.live.wait_for(client, hand_in(client, "acme", "1.0.0"))
        assert [module["state"], provider["state"]] == ["published", "published"], larder.said()
        check_signature(client, "acme", "1.0.0", tmp_path)
        make_another_key(client)
        client.post("/api/v1/providers/acme/dns/1.0.0/resign").raise_for_status()
        eventually(lambda: larder.live.query(WHO_SIGNED) == 2, seconds=30, what="the new signature")

    assert "permission denied" not in larder.said()


def make_another_key(client: httpx.Client) -> None:
    keys = "/api/v1/namespaces/acme/keys"
    client.post(keys, json={"generate": "ed25519"}).raise_for_status()
    eventually(lambda: [key["state"] for key in client.get(keys).json()["keys"]] == ["active"] * 2, seconds=30)


def test_people_sign_in_and_pages_answer(larder: Roles) -> None:
    with larder.live.client() as client:
        page = client.get("/account/login/")
        form = {"login": "admin", "password": ADMIN_PASSWORD, "csrfmiddlewaretoken": client.cookies["larder-csrf"]}
        assert page.status_code == 200
        signed_in = client.post("/account/login/", data=form, headers={"Referer": larder.live.url})
        assert signed_in.status_code == 302, signed_in.text
        for path in ("/", "/search", "/status", "/admin/", "/admin/signing/signingkey/", "/admin/audit/auditevent/"):
            assert client.get(path, follow_redirects=True).status_code == 200, path


def test_commands_of_operators_work_with_the_web_role(larder: Roles) -> None:
    larder.live.manage("audit", "verify")
    larder.live.manage("verify")
    larder.live.manage("end_sessions", "admin")
    assert "permission denied" not in larder.said()


@pytest.mark.parametrize("which", ["web", "signing", "owner"])
def test_a_new_connection_of_each_role_changes_no_audit_row(larder: Roles, which: str) -> None:
    with psycopg.connect(getattr(larder, which)) as database:
        database.execute("SELECT 1")
        for sql in ("UPDATE audit_auditevent SET actor_id = 1", "DELETE FROM audit_auditevent"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), database.transaction():
                database.execute(sql)


def test_a_new_connection_of_the_web_role_writes_no_private_key(larder: Roles) -> None:
    with psycopg.connect(larder.web) as database:
        for sql in ("UPDATE signing_privatekey SET kek_id = ''", "TABLE signing_privatekey"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), database.transaction():
                database.execute(sql)
