"""ssh with nothing of this host's: its configuration, keys and known hosts are files of the temporary folder.

The outgoing HTTP proxy is not used: connections go to the address that was checked.
"""

import os
import shlex
import tempfile
from pathlib import Path

from apps.contrib.git.remote import failures
from apps.contrib.git.remote.access import Access, GitFailed
from apps.contrib.git.remote.children import Command, program
from apps.contrib.git.remote.remotes import Remote
from apps.lib.net.outgoing import NotAnswered, resolved

# The name of the host among the known ones, whatever its port.
_ALIAS = "larder-remote"
# At LogLevel ERROR ssh ends without a word if the server has no common algorithm, or closes the connection.
_CONFIG = """Host *
  HostName {address}
  Port {port}
  HostKeyAlias {alias}
  GlobalKnownHostsFile /dev/null
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking yes
  UpdateHostKeys no
  VerifyHostKeyDNS no
  CheckHostIP no
  CanonicalizeHostname no
  BatchMode yes
  IdentitiesOnly yes
  IdentityFile {identity}
  IdentityAgent none
  CertificateFile none
  PreferredAuthentications publickey,none
  PasswordAuthentication no
  KbdInteractiveAuthentication no
  GSSAPIAuthentication no
  HostbasedAuthentication no
  ProxyCommand none
  ProxyJump none
  PermitLocalCommand no
  ControlMaster no
  ControlPath none
  ForwardAgent no
  ForwardX11 no
  Tunnel no
  ClearAllForwardings yes
  EscapeChar none
  RequestTTY no
  AddKeysToAgent no
  LogLevel INFO
  ConnectTimeout 10
  ConnectionAttempts 1
  ServerAliveInterval 15
  ServerAliveCountMax 2
"""


def address_of(remote: Remote, access: Access) -> str:
    """Resolve the host, check all its addresses, and return the first. Raises GitFailed."""
    try:
        return str(resolved(remote.parts, access.allowed)[0][1][0])
    except NotAnswered as error:
        raise failures.of_exchange(error) from None


def configured(remote: Remote, access: Access, folder: Path) -> list[str]:
    """Write ssh's files below the folder, and return the command without host. Raises GitFailed."""
    if not access.host_keys:
        raise GitFailed(
            "host_key_unknown",
            f"The host key of {remote.host} is not pinned.",
            hint="Compare its fingerprint with what the forge publishes, then trust it.",
            is_final=True,
        )
    folder = Path(tempfile.mkdtemp(prefix="ssh-", dir=folder))  # submodules have other keys
    identity = "none"
    if access.private_key:
        _write_private(folder / "key", access.private_key.strip() + "\n")
        identity = str(folder / "key")
    (folder / "known_hosts").write_text("".join(f"{_ALIAS} {key}\n" for key in access.host_keys))
    config = folder / "ssh_config"
    address = address_of(remote, access)
    config.write_text(_CONFIG.format(address=address, port=remote.port, alias=_ALIAS, folder=folder, identity=identity))
    return [program("ssh"), "-F", str(config)]


def environment(words: list[str]) -> dict[str, str]:
    """Have git call this ssh. It goes through a shell, so the words are quoted."""
    return {"GIT_SSH_COMMAND": shlex.join(words), "GIT_SSH_VARIANT": "ssh"}


def upload_pack(remote: Remote, access: Access, folder: Path) -> Command:
    """Return the command that has the server list its refs, and then ends. Raises GitFailed."""
    words = configured(remote, access, folder)
    there = [f"{remote.user}@{remote.host}", f"git-upload-pack {_quoted(remote.ssh_path)}"]
    # The flush packet: nothing is wanted.
    return Command(["ssh", *words[1:], *there], folder, {}, port=remote.port, stdin=b"0000")


def _quoted(path: str) -> str:
    """Quote as git does, which servers that parse the command expect."""
    return "'" + path.replace("'", "'\\''").replace("!", "'\\!'") + "'"


def _write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read, from its first byte."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
