"""A real nginx with the configuration of deploy/nginx, before a Larder and its static copy."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.live import CHECKOUT
from tests.postgres import free_port

AROUND = """
{user} daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  map "" $larder_link_secret {{ default "{secret}"; }}
  {shared}
  upstream larder {{ server {larder}; zone larder 64k; keepalive 32; }}
  server {{
    listen 127.0.0.1:{port}{tls};
    proxy_buffering off; proxy_request_buffering off; proxy_connect_timeout 2s;
    {locations}
    proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;
    location / {{ proxy_pass http://larder; }}
  }}
}}
"""


@dataclass
class Nginx:
    host: str
    url: str
    folder: Path
    remembered: Path  # Larder's answers, in memory
    pid: int

    @property
    def log(self) -> Path:
        return self.folder / "log" / "larder-copy.log"


def configured(name: str, places: Mapping[str, Path]) -> str:
    text = (CHECKOUT / "deploy" / "nginx" / name).read_text()
    for there, here in places.items():
        text = text.replace(there, str(here))
    return text


@contextmanager
def running(
    folder: Path, *, copy: Path, larder: str, secret: str = "", tls: tuple[Path, Path] | None = None
) -> Iterator[Nginx]:
    """`larder`: its host and port; `tls`: certificate and key."""
    port, memory = free_port(), Path("/dev/shm" if Path("/dev/shm").is_dir() else folder)  # a tmpfs
    remembered = memory / f"larder-permissions-{port}"
    (folder / "log").mkdir(parents=True)
    places = {
        "/srv/larder/copy": copy,
        "/var/log/nginx": folder / "log",
        "/run/larder-permissions": remembered,
    }
    certificate = f" ssl; ssl_certificate {tls[0]}; ssl_certificate_key {tls[1]}" if tls else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        AROUND.format(
            user="user root;" if os.geteuid() == 0 else "",
            folder=folder,
            secret=secret,
            shared=configured("static-copy.conf", places),
            locations=configured("static-copy-locations.conf", places),
            larder=larder,
            port=port,
            tls=certificate,
        )
    )
    process = subprocess.Popen(["nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", str(configuration)])
    url = f"http{'s' if tls else ''}://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 20
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail((folder / "error.log").read_text()[-2000:])
            time.sleep(0.05)
        yield Nginx(f"127.0.0.1:{port}", url, folder, remembered, process.pid)
    finally:
        process.terminate()
        process.wait(timeout=20)
        subprocess.run(["rm", "-rf", remembered], check=True)


def _answers(url: str) -> bool:
    try:
        httpx.get(f"{url}/.well-known/terraform.json", verify=False)  # noqa: S501  # it is our own
    except httpx.TransportError:
        return False
    return True
