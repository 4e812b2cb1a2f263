"""The servers that Larder is measured against, each on a free loopback port: nginx and Debian's docker-registry."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from bench.load import Server
from tests.postgres import free_port

NGINX = """
daemon off; {user} worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; open_file_cache max=100;
  types {{ }} default_type application/json;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}{tls}; root {folder}/files;{locations} }}
}}
"""
REGISTRY = """version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}, delete: {{enabled: true}}}}
http: {{addr: 127.0.0.1:{port}{tls}}}
"""


@contextmanager
def nginx(
    folder: Path,
    files: Mapping[str, bytes | Path],
    tls: tuple[Path, Path] | None = None,
    headers: Mapping[str, tuple[str, str]] | None = None,
) -> Iterator[Server]:
    """`files` by name: their bytes, or a file of the same disk, which gets a second name. `headers` likewise."""
    port, served = free_port(), folder / "files"
    served.mkdir(parents=True)
    for name, content in files.items():
        file = served / name.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            os.link(content, file)
        else:
            file.write_bytes(content)
    certificate = f" ssl; ssl_certificate {tls[0]}; ssl_certificate_key {tls[1]}" if tls else ""
    user = "user root;" if os.geteuid() == 0 else ""
    locations = "".join(
        f' location = {name} {{ add_header {header} "{value}"; }}' for name, (header, value) in (headers or {}).items()
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(NGINX.format(folder=folder, port=port, tls=certificate, user=user, locations=locations))
    command = ["nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", str(configuration)]
    with _running(command, folder, f"http{'s' if tls else ''}://127.0.0.1:{port}", "/") as server:
        yield server


@contextmanager
def docker_registry(folder: Path, tls: tuple[Path, Path] | None = None) -> Iterator[Server]:
    """`tls`: the files of a certificate and its key."""
    port = free_port()
    folder.mkdir()
    certificate = f", tls: {{certificate: {tls[0]}, key: {tls[1]}}}" if tls else ""
    configuration = folder / "config.yml"
    configuration.write_text(REGISTRY.format(folder=folder / "blobs", port=port, tls=certificate))
    command = ["docker-registry", "serve", str(configuration)]
    with _running(command, folder, f"http{'s' if tls else ''}://127.0.0.1:{port}", "/v2/") as server:
        yield server


@contextmanager
def _running(command: list[str], folder: Path, url: str, path: str) -> Iterator[Server]:
    output = folder / "output.txt"
    with output.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 20
        while not _answers(url + path):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {output.read_text()[-2000:]}")
            time.sleep(0.05)
        yield Server(url, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


def _answers(url: str) -> bool:
    try:
        httpx.get(url, verify=False)  # noqa: S501  # it is our own, and nothing secret is asked
    except httpx.TransportError:
        return False
    return True


def missing(*programs: str) -> list[str]:
    return [program for program in programs if shutil.which(program) is None]
