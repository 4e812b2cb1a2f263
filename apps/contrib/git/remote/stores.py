"""A bare repository in a temporary folder, and what git may do with it.

Its configuration is in the environment: nothing secret is an argument, which other users can see, or on the disk.
"""

import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from apps.contrib.git.remote import children, failures, refs, ssh
from apps.contrib.git.remote.access import Access, GitFailed, Limits
from apps.contrib.git.remote.children import Clock, Command
from apps.contrib.git.remote.remotes import Remote
from apps.lib.net.addresses import port_of
from apps.lib.net.fetching import origin_of
from apps.lib.net.outgoing import NotAnswered, resolved

# What a fetched ref is called here.
WANTED = "refs/larder/wanted"
_SHA1_DIGITS = 40
_SYSTEM_AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Red Hat
    "/etc/ssl/ca-bundle.pem",  # SUSE
    "/etc/ssl/cert.pem",  # macOS
)
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")
_CONFIG = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.askPass": "",
    "core.alternateRefsCommand": "",
    "core.packedGitWindowSize": "32m",
    "core.packedGitLimit": "512m",
    "core.bigFileThreshold": "32m",  # larger files are streamed
    "credential.helper": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "1",
    "protocol.allow": "never",
    "protocol.version": "2",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.unpackLimit": "1",  # always a pack, whose size is limited
    "fetch.writeCommitGraph": "false",
    "fetch.fsckObjects": "true",
    "transfer.bundleURI": "false",
    "transfer.credentialsInUrl": "die",
    "http.followRedirects": "false",  # also ends http-alternates
    "http.proxyAuthMethod": "basic",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "30",
    "http.sslVerify": "true",
    "tar.umask": "0022",
    # What old programs wrote into commits and trees without harm; all other findings refuse the repository.
    **{
        f"fetch.fsck.{name}": "ignore"
        for name in (
            "badDate",
            "badDateOverflow",
            "badEmail",
            "badName",
            "badTimezone",
            "missingEmail",
            "missingNameBeforeEmail",
            "missingSpaceBeforeDate",
            "missingSpaceBeforeEmail",
            "missingTaggerEntry",
            "multipleAuthors",
            "zeroPaddedDate",
            "zeroPaddedFilemode",
        )
    },
}


@dataclass(frozen=True, slots=True)
class Store:
    """`folder` is the temporary one, in which `name` is the repository."""

    folder: Path
    name: str
    clock: Clock
    limits: Limits

    @property
    def path(self) -> Path:
        return self.folder / self.name

    @property
    def pack_bytes(self) -> int:
        return sum(file.stat().st_size for file in (self.path / "objects/pack").iterdir())

    def create(self, object_id: str = "") -> None:
        """Make it as `git init --bare` does, without a template. `object_id` decides between SHA-1 and SHA-256."""
        for one in ("objects/info", "objects/pack", "refs"):
            (self.path / one).mkdir(parents=True)
        (self.path / "HEAD").write_text("ref: refs/heads/none\n")
        is_long = len(object_id) > _SHA1_DIGITS
        extension = "[extensions]\n\tobjectformat = sha256\n" if is_long else ""
        (self.path / "config").write_text(
            f"[core]\n\trepositoryformatversion = {int(is_long)}\n\tbare = true\n{extension}"
        )

    def command(self, words: Sequence[str], stdin: bytes = b"") -> Command:
        """Return a git that reads this repository, and nothing over the network."""
        return Command(["git", *words], self.folder, self._environment({}), stdin=stdin)

    def run(self, words: Sequence[str], *, max_bytes: int, stdin: bytes = b"") -> bytes:
        """Raises GitFailed."""
        output, ended = children.run(self.command(words, stdin), self.clock, max_bytes)
        check_ended(ended)
        return output

    def fetch(self, remote: Remote, access: Access, what: str) -> None:
        """Fetch a ref, or a commit by its id, without its history. Raises GitFailed."""
        config: dict[str, str] = {}
        more: dict[str, str] = {}
        there, port = remote, remote.port
        # Names are resolved, and the server is asked where the repository is, in the same time as git has.
        with self.clock.running():
            if remote.scheme == "ssh":
                more = ssh.environment(ssh.configured(remote, access, self.folder))
            else:
                there = refs.located(remote, access, replace(self.limits, seconds=self.clock.left))
                if origin_of(there.parts) != origin_of(remote.parts):
                    access = replace(access, authorization="")
                config, port = self._https(there, access)
        config[f"protocol.{there.scheme}.allow"] = "always"
        options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        command = Command(
            ["git", "fetch", *options, "--no-auto-gc", "--", there.git_url, f"+{what}:{WANTED}"],
            self.folder,
            {**self._environment(config), **more},
            port=port,
            file_bytes=self.limits.pack_bytes,
        )
        _, ended = children.run(command, self.clock, max_bytes=1024 * 1024)
        if ended.code:
            raise failures.of_output(ended.errors, ended.code, remote, access)

    def _https(self, remote: Remote, access: Access) -> tuple[dict[str, str], int]:
        """Return the configuration of http and https, and the port of the connections."""
        authorities = self.folder / f"{self.name}.pem"
        authorities.write_text(_authorities(access))
        config = {"http.sslCAInfo": str(authorities)}
        port = remote.port
        if access.proxy:
            # The proxy resolves the name. `located` has refused private addresses, as for every request by a proxy.
            config["http.proxy"] = access.proxy
            port = port_of(urlsplit(access.proxy))
        else:
            try:
                addresses = [str(where[0]) for _, where in resolved(remote.parts, access.allowed)]
            except NotAnswered as error:
                raise failures.of_exchange(error) from None
            if not _is_address(remote.host):
                pinned = ",".join(f"[{one}]" if ":" in one else one for one in dict.fromkeys(addresses))
                config["http.curloptResolve"] = f"{remote.host}:{port}:{pinned}"
        if access.authorization:
            config["http.extraHeader"] = f"Authorization: {access.authorization}"
        return config, port

    def _environment(self, config: dict[str, str]) -> dict[str, str]:
        pairs = list({**_CONFIG, **config}.items())
        given = {f"GIT_CONFIG_KEY_{number}": key for number, (key, _) in enumerate(pairs)}
        given |= {f"GIT_CONFIG_VALUE_{number}": value for number, (_, value) in enumerate(pairs)}
        return {
            **given,
            "GIT_CONFIG_COUNT": str(len(pairs)),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_DIR": str(self.path),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PROTOCOL_FROM_USER": "0",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_PAGER": "cat",
        }


def check_ended(ended: children.Ended) -> None:
    """Raises GitFailed for a git that read what was fetched, and failed."""
    if ended.code:
        said = failures.redacted((ended.errors.strip().splitlines() or [""])[-1], ())
        raise GitFailed(
            "bad_object",
            f"The fetched commit cannot be read: git ended with code {ended.code}. {said}".rstrip(),
            hint="Run git fsck in a clone, repair the commit, and push a new tag.",
            is_final=True,
        )


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _authorities(access: Access) -> str:
    """Return whom `access.trusted` trusts, as PEM, and the system's, which Python may not have read yet."""
    texts = [ssl.DER_cert_to_PEM_cert(one) for one in access.trusted.get_ca_certs(binary_form=True)]
    system = next((Path(file) for file in _SYSTEM_AUTHORITIES if Path(file).is_file()), None)
    files = [file for file in (system, Path(access.ca_file) if access.ca_file else None) if file is not None]
    texts += [file.read_text(encoding="utf-8", errors="replace") for file in files]
    # Each once: curl reads them all before it connects.
    return "\n".join(dict.fromkeys(found for text in texts for found in _CERTIFICATE.findall(text)))
