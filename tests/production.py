"""compose.production.yaml without containers: Larder's as processes, the other parts on free ports."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import yaml

from bench import trees
from tests import confined, postgres, s3
from tests.live import ADMIN_PASSWORD, CHECKOUT, Live
from tests.postgres import free_port
from tests.site.processes import eventually

COMPOSE = yaml.safe_load((CHECKOUT / "compose.production.yaml").read_text())
OURS = {name: one for name, one in COMPOSE["services"].items() if one.get("build")}
# As .env: each password is another.
GIVEN = {
    name: f"of-{name.lower()}"
    for name in re.findall(r"\$\{(\w+_PASSWORD):\?", (CHECKOUT / "compose.production.yaml").read_text())
}
GIVEN |= {
    "LARDER_PUBLIC_URL": "https://registry.acme.example",
    "S3_ACCESS_KEY": "key",
    "S3_SECRET_KEY": "secret",
    "LARDER_ADMIN_PASSWORD": ADMIN_PASSWORD,
}
METRICS_TOKEN = "a token of thirty-two characters or more"
# nginx goes on to the web servers from an address that is its alone, as in its container.
NGINX = "127.0.0.10"
ONCE = ("migrate", "roles", "bucket")
UNITS = {"worker": "larder-worker", "roles": "larder-database-roles", "bucket": "larder-migrate"}
# Of the tests alone: Larder's users may not look at Redis as a whole.
REDIS_ADMIN: Any = {"username": "admin", "password": "admin"}


def interpolated(text: str) -> str:
    """Variables as Compose writes them: `${NAME:-default}`, `${NAME:?message}` and `${NAME:+instead}`."""
    text = re.sub(r"\$\{(\w+):\+([^}]*)\}", lambda found: found[2] if GIVEN.get(found[1]) else "", text)
    return re.sub(r"\$\{(\w+):([-?])([^}]*)\}", lambda found: GIVEN.get(found[1]) or found[3], text)


def answers_at(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Part:
    """A program of the stack that is not Larder's, on a port that it keeps."""

    words: list[str]
    port: int
    environment: dict[str, str] = field(default_factory=dict)
    process: "subprocess.Popen[bytes]" = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        own = os.environ | self.environment
        self.process = subprocess.Popen(self.words, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: answers_at(self.port), what=self.words[0])

    def stop(self, sent: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(sent)
        self.process.wait(timeout=30)


@dataclass
class Stack:
    """Each of Larder's containers as a process with a data folder of its own; `replaced`: addresses of this machine."""

    folder: Path
    replaced: dict[str, str]
    variables: dict[str, str]
    database: postgres.Server
    broker: Part
    cache: Part
    live: Live = field(init=False)
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    webs: dict[str, int] = field(default_factory=dict)
    pages: dict[str, int] = field(default_factory=dict)  # where workers answer /metrics
    ended: set[int] = field(default_factory=set)  # processes that another has followed

    def start_all(self, *, but: set[str]) -> None:
        for name in OURS.keys() - but:
            for number in range(OURS[name].get("deploy", {}).get("replicas", 1)):
                self.start(f"{name}-{number}")

    def start(self, copy: str) -> None:
        """The process of `copy`, such as web-0, with the same port again."""
        if copy.startswith("web-"):
            self.webs.setdefault(copy, free_port())
        if copy in self.processes:
            self.ended.add(self.processes[copy].pid)
        service = copy.rpartition("-")[0]
        words = OURS[service]["command"][1:]
        if confined.is_possible():
            words = ["-m", "tests.confined", UNITS.get(service, f"larder-{service}"), *words]
        with (self.folder / f"{copy}.log").open("ab") as sink:
            self.processes[copy] = subprocess.Popen(
                [sys.executable, *words],
                cwd=CHECKOUT,
                env=self.environment(copy),
                stdout=sink,
                stderr=sink,
            )

    def restart_ended(self) -> None:
        """Restart like Docker: a service that finds no database when it begins ends, and is begun again."""
        for copy, process in self.processes.items():
            restarts = OURS[copy.rpartition("-")[0]].get("restart") == "unless-stopped"
            if restarts and process.poll() is not None:
                self.start(copy)

    def environment(self, copy: str) -> dict[str, str]:
        inherited = {name: text for name, text in os.environ.items() if not name.startswith(("LARDER_", "DJANGO_"))}
        own = {}
        for key, value in OURS[copy.rpartition("-")[0]]["environment"].items():
            text = interpolated(str(value))
            for container, here in self.replaced.items():
                text = text.replace(container, here)
            own[key] = text
        own["LARDER_METRICS_LISTEN"] = f"127.0.0.1:{self.pages.setdefault(copy, free_port())}"
        if copy in self.webs:
            own["LARDER_LISTEN"] = f"127.0.0.1:{self.webs[copy]}"
        (self.folder / copy).mkdir(mode=0o700, exist_ok=True)
        # Others need not have what a pool of processes needs.
        given = {name: text for name, text in self.variables.items() if "worker" in copy or "_WORKER_" not in name}
        return inherited | own | {"LARDER_DATA_DIR": str(self.folder / copy)} | given

    def stop(self) -> dict[str, int]:
        for process in self.processes.values():
            process.send_signal(signal.SIGTERM)
        return {name: process.wait(timeout=60) for name, process in self.processes.items()}

    def tree(self) -> set[int]:
        """All processes of Larder, those that they have started included."""
        return {pid for process in self.processes.values() for pid in trees.descendants(process.pid)}

    def memory(self) -> float:
        """Of all of them, in MB."""
        return sum(trees.pss(process.pid) for process in self.processes.values())

    def logs(self) -> str:
        return "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in self.folder.glob("*.log"))


@contextmanager
def running(folder: Path, *, storage: Callable[[int], int] | None = None, **variables: str) -> Iterator[Stack]:
    """All of it, ready. `storage` may put something before the S3 server: it takes a port and returns another."""
    port = free_port()
    (folder / "larder_secret_key").write_text("correct horse battery staple and more\n")
    (folder / "larder_signing_kek").write_text("5a" * 32 + "\n")
    (folder / "larder_metrics_token").write_text(METRICS_TOKEN + "\n")
    with ExitStack() as parts:
        database = postgres.Server(keeps_commits=True, password=GIVEN["POSTGRES_PASSWORD"])
        parts.callback(database.stop_at_once)
        make_roles(database)
        broker, cache = (_redis(parts, service, folder) for service in ("broker", "cache"))
        storage_port = parts.enter_context(s3.server())
        replaced = {
            "https://registry.acme.example": f"https://127.0.0.1:{port}",
            "@postgres:5432": f"@127.0.0.1:{database.port}",
            "@broker:6379": f"@127.0.0.1:{broker.port}",
            "@cache:6379": f"@127.0.0.1:{cache.port}",
            "s3:8333": f"127.0.0.1:{storage(storage_port) if storage else storage_port}",
            "172.30.8.10": NGINX,
            "/run/secrets": str(folder),
        }
        usual = {"LARDER_STOP_NOTICE_SECONDS": "0"}
        stack = Stack(folder, replaced, usual | variables, database, broker, cache)
        for once in ONCE:
            stack.start(f"{once}-0")
            assert stack.processes.pop(f"{once}-0").wait(timeout=300) == 0, stack.logs()
        later = {name for name, one in OURS.items() if one.get("profiles")}
        stack.start_all(but={*ONCE, *later})
        parts.callback(_nginx(folder / "nginx", port, list(stack.webs.values())).stop)
        commands = stack.environment("worker-commands")
        url, log = f"https://127.0.0.1:{port}", folder / "web-0.log"
        stack.live = Live(url, f"127.0.0.1:{port}", folder / "nginx", commands, stack.processes["web-0"], log)
        try:
            eventually(lambda: is_ready(stack.live), seconds=90, what="Larder")
            yield stack
        finally:
            if "commands" in vars(stack.live):
                stack.live.commands.communicate()
            ended = stack.stop()
        assert set(ended.values()) == {0}, (ended, stack.logs())


def is_ready(larder: Live) -> bool:
    try:
        with larder.client() as client:
            answer = client.get("/readyz")
        return answer.status_code == 200 and not answer.json()["warnings"]
    except (httpx.TransportError, OSError):
        return False


def make_roles(database: postgres.Server) -> None:
    """Make the roles like PostgreSQL's image in an empty volume."""
    database.url = f"{database.url.rpartition('/')[0]}/larder"
    service = COMPOSE["services"]["postgres"]
    own = {name: interpolated(text) for name, text in service["environment"].items()}
    own |= {"PGHOST": "127.0.0.1", "PGPORT": str(database.port), "PGPASSWORD": own["POSTGRES_PASSWORD"]}
    script = CHECKOUT / service["volumes"][1].partition(":")[0]
    for words in (["createdb", "--username", "postgres", "larder"], ["sh", str(script)], ["sh", str(script)]):
        subprocess.run(words, env=os.environ | own, check=True)


def _redis(parts: ExitStack, service: str, folder: Path) -> Part:
    """With the arguments and the users of that service, and one more for the tests."""
    port, described = free_port(), COMPOSE["services"][service]
    shutil.copytree(CHECKOUT / "deploy" / "redis", folder / service)
    with (folder / service / f"{service}.acl").open("a") as users:
        users.write("user {username} on >{password} ~* &* +@all\n".format(**REDIS_ADMIN))
    own = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder / service)]
    words = [word.replace("/larder/", f"{folder / service}/") for word in described["command"]]
    passwords = {name: interpolated(text) for name, text in described["environment"].items()}
    part = Part([*words, *own], port, {**passwords, "TMPDIR": str(folder / service)})
    parts.callback(part.stop)
    return part


def _nginx(own: Path, port: int, webs: list[int]) -> Part:
    """deploy/nginx/larder.conf with ports and paths of this machine."""
    (own / "tls").mkdir(parents=True)
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-nodes"]
    files = ["-keyout", str(own / "tls.key"), "-out", str(own / "tls.crt")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", *files, *subject], check=True, capture_output=True
    )
    (own / "tls" / "bundle.pem").write_bytes((own / "tls.crt").read_bytes())
    text = (CHECKOUT / "deploy/nginx/larder.conf").read_text()
    first, *others = (f"server 127.0.0.1:{web}" for web in webs)
    for container, here in {
        # Debian's nginx is older than these: it knows no name that changes its address, and no http2 apart from listen.
        "resolver 127.0.0.11 valid=5s ipv6=off;": "",
        "server web:8080 resolve": "".join(f"{other}; " for other in others) + first,
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "proxy_http_version 1.1;": f"proxy_http_version 1.1; proxy_bind {NGINX};",
        "http2 on;": "",
        "/tls/": f"{own}/",
    }.items():
        assert container in text
        text = text.replace(container, here)
    paths = "".join(f"{kind}_temp_path {own}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (own / "nginx.conf").write_text(f"daemon off; pid {own}/pid;" + text.replace("http {", f"http {{ {paths}", 1))
    return Part(["nginx", "-p", str(own), "-e", f"{own}/error.log", "-c", f"{own}/nginx.conf"], port)
