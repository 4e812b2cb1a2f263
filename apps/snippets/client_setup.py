"""Files and commands for clients, pipelines and bots to use this Larder, with its host names."""

import hashlib
import json
import ssl
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.urls import reverse

from apps.lib.net.hostnames import as_written

TOKEN = "lrd_…"  # noqa: S105  # what stands for one


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text to copy, with its `label`."""

    label: str
    text: str


def host() -> str:
    """Return the host as configurations write it, with Unicode letters, which clients encode themselves."""
    return as_written(settings.PUBLIC_HOST)


def wire_host() -> str:
    """Return the host as requests name it, in ASCII: for URLs, and for programs that do not encode."""
    return str(settings.PUBLIC_HOST)


def serves_modules() -> bool:
    """Clients take an address for a registry module only if its host has a dot."""
    return "." in host()


def is_plain_http() -> bool:
    return bool(settings.PUBLIC_URL.startswith("http:"))


def own_authority() -> dict[str, str] | None:
    """This Larder's own certificate authority as PEM, with its fingerprint; None if it serves another's."""
    path = Path(settings.DATA_DIR) / "tls" / "ca.pem"
    if settings.TLS != "auto" or not settings.PUBLIC_URL.startswith("https:") or not path.is_file():
        return None
    pem = path.read_text()
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest().upper()
    return {"pem": pem.strip(), "fingerprint": ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))}


def ways_to_use(secret: str, host: str) -> dict[str, str]:
    """The token for clients' files and variables, for this host (`name` or `name:port`, in ASCII)."""
    name = host.rsplit(":", 1)[0] if ":" in host else host
    ways = {
        "secret": secret,
        "credentials": f'credentials "{as_written(host)}" {{\n  token = "{secret}"\n}}',
        "netrc": f"machine {name} login larder password {secret}",
    }
    if ":" not in host:  # variable names cannot have a port, and spell "-" as "__"
        ways["variable"] = f"TF_TOKEN_{host.replace('-', '__').replace('.', '_')}={secret}"
    return ways


def credentials() -> Snippet:
    return Snippet("Credentials block", ways_to_use(TOKEN, wire_host())["credentials"])


def variable() -> Snippet | None:
    """None for a host with a port: shells cannot export a variable with such a name."""
    assignment = ways_to_use(TOKEN, wire_host()).get("variable")
    return Snippet("Environment variable", f"export {assignment}") if assignment else None


def login() -> Snippet:
    return Snippet("Login on the command line", f"tofu login {host()}")


def netrc() -> Snippet:
    """curl compares the host without its port."""
    return Snippet("Line of .netrc", ways_to_use(TOKEN, wire_host())["netrc"])


def host_block() -> Snippet:
    """For plain HTTP: discovery requires HTTPS, and a `host` block replaces it."""
    base = settings.PUBLIC_URL
    services = [
        f'    "modules.v1"   = "{base}{reverse("protocol:modules")}"',
        f'    "providers.v1" = "{base}{reverse("protocol:providers")}"',
    ]
    return Snippet("Host block", "\n".join([f'host "{host()}" {{', "  services = {", *services, "  }", "}"]))


def github_actions() -> Snippet:
    name, secret = _variable_name(), "${{ secrets.LARDER_TOKEN }}"
    if name:
        text = f"steps:\n  - run: tofu init -input=false\n    env:\n      {name}: {secret}"
    else:
        text = f"steps:\n  - run: |\n      {_write_file()}\n      tofu init -input=false\n"
        text += f"    env:\n      LARDER_TOKEN: {secret}"
    return Snippet("Steps of a GitHub Actions job", text)


def gitlab_ci() -> Snippet:
    name = _variable_name()
    if name:
        text = f"plan:\n  variables:\n    {name}: $LARDER_TOKEN\n  script:\n    - tofu init -input=false"
    else:
        text = f"plan:\n  before_script:\n    - {_write_file()}\n  script:\n    - tofu init -input=false"
    return Snippet("Job of GitLab CI", text)


def any_shell() -> Snippet:
    name = _variable_name()
    first = f'export {name}="$LARDER_TOKEN"' if name else _write_file()
    return Snippet("Lines for any CI", f"{first}\ntofu init -input=false")


def renovate() -> Snippet:
    """For every data source: with a `hostType` the others would send no token."""
    rule = {"matchHost": f"{settings.PUBLIC_URL}/", "token": "{{ secrets.LARDER_TOKEN }}"}
    return Snippet("Host rule of Renovate", json.dumps({"hostRules": [rule]}, indent=2))


def ask_discovery() -> Snippet:
    url = settings.PUBLIC_URL + reverse("protocol:discovery")
    return Snippet("Command that requests the discovery document", f"curl --include {url}")


def proxy() -> Snippet:
    name = wire_host().rpartition(":")[0] or wire_host()
    return Snippet(
        "Proxy variables", f"export HTTPS_PROXY=http://proxy.example.com:3128\nexport NO_PROXY={name}  # to bypass it"
    )


def _variable_name() -> str:
    return ways_to_use(TOKEN, wire_host()).get("variable", "").partition("=")[0]


def _write_file() -> str:
    """Keeps the token out of the command's text: some shells print the commands that they run."""
    return f"""printf 'credentials "%s" {{ token = "%s" }}\\n' '{host()}' "$LARDER_TOKEN" > ~/.tofurc"""
