"""The servers of production for repositories on loopback: sshd, and git http-backend behind nginx by fcgiwrap."""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.builders.git_repositories import ENVIRONMENT, Repository, ssh_key
from tests.builders.git_servers import BACKEND, Site
from tests.builders.tls import Authority
from tests.postgres import free_port

SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
# As forges do: git alone, paths below a folder, and an error in words. Paths without a slash are below home/.
_COMMAND = """#!/bin/sh
PATH={path}; export PATH
case "$SSH_ORIGINAL_COMMAND" in
  "git-upload-pack '"*"'"|"git-receive-pack '"*"'") ;;
  *) echo "ERROR: only git is allowed." >&2; exit 1 ;;
esac
asked="${{SSH_ORIGINAL_COMMAND#git-*-pack \\'}}"; asked="${{asked%\\'}}"
case "$asked" in /*) ;; *) asked="/home/$asked" ;; esac
echo "$SSH_ORIGINAL_COMMAND" >> {folder}/commands
if [ ! -d "{folder}$asked" ]; then echo "ERROR: Repository not found." >&2; exit 1; fi
exec "${{SSH_ORIGINAL_COMMAND%% *}}" "{folder}$asked"
"""
# Of several lines with one name, sshd takes the first.
_SSHD = """
{more}
Port {port}
ListenAddress {address}
{host_keys}
AuthorizedKeysFile {folder}/authorized_keys
ForceCommand {folder}/command
AcceptEnv GIT_PROTOCOL
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
"""
_NGINX = """
daemon off;
pid {folder}/pid;
error_log stderr error;
events {{}}
http {{
  access_log off;
  {paths}
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {folder}/localhost.pem;
    ssl_certificate_key {folder}/localhost.pem;
    client_max_body_size 0;
    location / {{
      fastcgi_pass unix:{socket};
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME {backend};
      fastcgi_param GIT_PROJECT_ROOT {repositories};
      fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param PATH_INFO $uri;
      fastcgi_param GIT_PROTOCOL $http_git_protocol;
      fastcgi_param REMOTE_USER $remote_user;
      fastcgi_read_timeout 30s;
    }}
  }}
}}
"""


def program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=SBIN)


@dataclass
class SshSite:
    """`key` is the file of a private key that the server knows; `own` are those of its host keys."""

    folder: Path
    port: int
    key: Path
    own: tuple[Path, ...]

    def repository(self, name: str) -> Repository:
        return Repository(self.folder / f"{name}.git")

    def url(self, name: str, host: str = "localhost") -> str:
        return f"ssh://{getpass.getuser()}@{host}:{self.port}/{name}.git"

    def authorize(self, line: str) -> None:
        """Let a public key in, as an administrator does: a line of authorized_keys."""
        with (self.folder / "authorized_keys").open("a") as file:
            file.write(line.strip() + "\n")

    @property
    def host_keys(self) -> tuple[str, ...]:
        return tuple(sorted(map(public_half, self.own)))

    @property
    def fingerprints(self) -> list[str]:
        """The fingerprints as ssh-keygen prints them."""
        words = [["ssh-keygen", "-lf", str(key)] for key in self.own]
        shown = [subprocess.run(one, capture_output=True, text=True, check=True).stdout for one in words]
        return sorted(line.split()[1] for line in shown)

    @property
    def commands(self) -> list[str]:
        file = self.folder / "commands"
        return file.read_text().splitlines() if file.exists() else []


def public_half(key: Path) -> str:
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


@contextmanager
def ssh_site(
    folder: Path,
    *,
    port: int = 0,
    own: tuple[Path, ...] = (),
    address: str = "127.0.0.1",
    more: str = "",
) -> Iterator[SshSite]:
    """Serve the bare repositories below the folder by sshd, to this user and one key. `own`: its host keys; `more`:
    lines of its configuration, which replace those above.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key = folder / "deploy_key"
    if not key.exists():
        ssh_key(key)
    own = own or (ssh_key(folder / f"host_key_{time.monotonic_ns()}"),)
    port = port or free_port()
    if not (folder / "authorized_keys").exists():
        (folder / "authorized_keys").write_text(public_half(key) + "\n")
    command = folder / "command"
    command.write_text(_COMMAND.format(folder=folder, path=ENVIRONMENT["PATH"]))
    command.chmod(0o755)
    host_keys = "\n".join(f"HostKey {one}" for one in own)
    text = _SSHD.format(folder=folder, port=port, address=address, host_keys=host_keys, more=more)
    (folder / "sshd_config").write_text(text)
    # Where sshd of root separates its privileges; a package makes it with the service, which tests do not start.
    if getpass.getuser() == "root":
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    words = [str(program("sshd")), "-D", "-e", "-f", str(folder / "sshd_config")]
    with _running(words, folder / "sshd.log", port, address):
        yield SshSite(folder, port, key, own)


@contextmanager
def nginx_site(folder: Path) -> Iterator[Site]:
    """Serve the bare repositories below the folder by nginx, with TLS, at localhost."""
    own = folder / "nginx"
    own.mkdir(parents=True)
    authority = Authority("Git behind nginx")
    authority.server("localhost", own)
    (own / "ca.pem").write_bytes(authority.pem)
    port, socket_file = free_port(), own / "fcgi"
    paths = "".join(f"{kind}_temp_path {own}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    text = _NGINX.format(folder=own, port=port, socket=socket_file, backend=BACKEND, repositories=folder, paths=paths)
    # Under root nginx's workers are another user, who may neither read the folder nor call fcgiwrap.
    (own / "nginx.conf").write_text(f"user {getpass.getuser()};{text}" if getpass.getuser() == "root" else text)
    wrap = [str(program("fcgiwrap")), "-c", "2", "-s", f"unix:{socket_file}"]
    nginx = [str(program("nginx")), "-p", str(own), "-e", str(own / "error.log"), "-c", str(own / "nginx.conf")]
    with _running(wrap, own / "fcgiwrap.log", 0), _running(nginx, own / "nginx.log", port):
        yield Site(folder, f"https://localhost:{port}", str(own / "ca.pem"))


@contextmanager
def _running(words: list[str], log: Path, port: int, address: str = "127.0.0.1") -> Iterator[None]:
    with log.open("wb") as written:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=written, stderr=written, env=ENVIRONMENT, start_new_session=True
        )
    try:
        ends = time.monotonic() + 10
        while port and not _answers(address, port):
            if process.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"{words[0]} does not answer: {log.read_text()}")
            time.sleep(0.02)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # fcgiwrap leaves its workers behind
        process.wait(10)


def can_listen(address: str) -> bool:
    try:
        socket.create_server((address, 0), family=socket.AF_INET6 if ":" in address else socket.AF_INET).close()
    except OSError:
        return False
    return True


def _answers(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as one:
        one.settimeout(1)
        return one.connect_ex((address, port)) == 0
