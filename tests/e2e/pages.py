"""A Larder called registry.example.com, as on the pages of docs/, at which tests type their commands.

A proxy leads that name there, so addresses, variables and certificates are those of the pages.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.builders.archives import module_zip
from tests.builders.keys import signing_key
from tests.builders.line import a_line
from tests.e2e.providers import Depot
from tests.live import Live, start_live

HOST = "registry.example.com"
VPC = {
    "main.tf": 'locals {\n  greeting = "hello from %s"\n}\n',
    "modules/subnet/main.tf": 'output "subnet" {\n  value = "%s"\n}\n',
    "README.md": "# vpc\n",
}
PLATFORMS = ("linux_amd64", "darwin_arm64")


@dataclass
class Registry:
    larder: Live
    proxy: str
    manage: str
    read: str

    @property
    def depot(self) -> Depot:
        return Depot(self.larder, self.manage, self.read, signing_key("ed25519"))

    def type(self, folder: Path, text: str, client: str = "", *, shell: str = "sh", **environment: str) -> str:
        """Return the output of a shell in this folder, whose `tofu` is this client. It must end well."""
        programs = folder.parent / "programs"
        programs.mkdir(exist_ok=True)
        if client and not (programs / "tofu").exists():
            (programs / "tofu").symlink_to(shutil.which(client) or "")
        done = subprocess.run(
            [shell, "-eu", "-c", text],
            cwd=folder,
            env={
                "PATH": f"{programs}:{os.environ['PATH']}",
                "HOME": str(folder.parent),
                "HTTPS_PROXY": self.proxy,
                "SSL_CERT_FILE": str(self.larder.ca_bundle),
                "CURL_CA_BUNDLE": str(self.larder.ca_bundle),
                "CHECKPOINT_DISABLE": "1",
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout


@contextmanager
def registry_of_the_pages(folder: Path, *, why: str, **variables: str) -> Iterator[Registry]:
    """With the module acme/vpc/aws and the provider acme/dns, both private."""
    with (
        start_live(folder, why=why, LARDER_PUBLIC_URL=f"https://{HOST}", **variables) as larder,
        a_line({HOST: int(larder.host.rpartition(":")[2])}) as line,
    ):
        found = Registry(larder, line.url, larder.token(), larder.token("admin", "read"))
        depot = found.depot
        depot.namespace("acme", "private")
        for version in ("1.0.0", "1.2.0"):
            archive = module_zip({name: text.replace("%s", version) for name, text in VPC.items()})
            assert larder.publish("acme/vpc/aws", version, archive, found.manage)["state"] == "published"
            depot.publish("acme/dns", version, platforms=PLATFORMS)
        yield found
