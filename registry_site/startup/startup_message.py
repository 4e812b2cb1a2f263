"""The message of `manage.py up` once Larder answers: its address, the first password, how clients trust it."""

import shlex
import sys
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from apps.lib.net.hostnames import as_written
from registry_site.server.files import replace
from registry_site.startup import certificates
from registry_site.startup.certificates import Served
from registry_site.startup.first_run import ADMIN, DEMO_ADDRESS, DEMO_VERSION

COPY_FROM = "# --- copy from here ---"
COPY_TO = "# --- to here ---"
RULE = "-" * 72


def text(
    *,
    public_url: str,
    data_dir: Path,
    files: Served | None,
    password: str | None,
    has_demo: bool = True,
    container: str = "",
) -> str:
    """Return the whole message. `password` is only given until the first sign-in with it: the last line.

    `container` is the container's name for `docker cp`, if the lines are pasted outside of it.
    """
    lines = ["", RULE, f"Larder is ready: {public_url}", ""]
    lines += [f"Data: {data_dir}", *trust(files, container), ""]
    if has_demo:
        address = urlsplit(public_url)
        lines.append("Try it: paste these lines into a shell.")
        if "." not in (address.hostname or "") and ":" not in (address.hostname or ""):
            lines.append("(Module addresses need a dot in the host name: open this Larder under a name with a dot.)")
        pasted = trial(as_written(address.netloc), client_environment(files, data_dir), container)
        lines += ["", COPY_FROM, *pasted, COPY_TO, ""]
    manage = f"docker exec -it {container} python manage.py" if container else f"{sys.executable} manage.py"
    lines.append("Ctrl-C stops it.")
    if settings.DEMO == "on":
        return "\n".join([*lines, "", "It is a demonstration, and complete in about a minute.", RULE, ""])
    lines.append(f"If you lose the password of {ADMIN}: {manage} set_password {ADMIN}")
    if password:
        lines += ["", f"Sign in as {ADMIN} with the password {password}"]
    return "\n".join([*lines, RULE, ""])


def trust(files: Served | None, container: str) -> list[str]:
    """Return lines that tell how to trust the certificate on this system."""
    if files is None or files.ca is None:
        return []
    lines = [f"Certificate authority: {files.ca}", f"  SHA-256 {certificates.fingerprint(files.ca)}"]
    if container:
        return [*lines, f"Copy it out to trust it: docker cp {container}:{files.ca} larder-ca.pem"]
    if sys.platform == "linux":
        lines.append(f"Trust it in this shell:  export SSL_CERT_FILE={shlex.quote(str(files.bundle))}")
    # Go reads the system's store on macOS and Windows and no variable there (terraform issue 28551).
    lines.append("Trust it everywhere:     make trust")
    return lines


def client_environment(files: Served | None, data_dir: Path) -> dict[str, str]:
    """Return the environment variables that a client needs to reach this Larder."""
    if files is None:
        return {"TF_CLI_CONFIG_FILE": str(data_dir / "tofu.rc")}
    return {"SSL_CERT_FILE": str(files.bundle)} if files.bundle else {}


def trial(host: str, environment: dict[str, str], container: str) -> list[str]:
    """Return lines for any POSIX shell, even `bash -eu`, that install and apply the demo module in a fresh folder."""
    copies = []
    exports = [f"export {name}={shlex.quote(value)}" for name, value in environment.items()]
    if container:
        copies = [f'docker cp {container}:{shlex.quote(value)} "$PWD/"' for value in environment.values()]
        exports = [f'export {name}="$PWD/{Path(value).name}"' for name, value in environment.items()]
    return [
        'cd "$(mktemp -d)"',
        "cat > main.tf <<'END'",
        'module "hello" {',
        f'  source  = "{host}/{DEMO_ADDRESS}"',
        f'  version = "{DEMO_VERSION}"',
        "}",
        'output "greeting" {',
        "  value = module.hello.greeting",
        "}",
        "END",
        *copies,
        *exports,
        "export CHECKPOINT_DISABLE=1",
        "client=$(command -v tofu || command -v terraform || echo tofu)",
        '"$client" init -input=false',
        '"$client" apply -auto-approve -input=false',
    ]


def write_client_configuration(public_url: str, data_dir: Path) -> Path:
    """Write a CLI configuration for plain HTTP: a `host` block replaces discovery, the one step that needs HTTPS."""
    host = as_written(urlsplit(public_url).netloc)
    path = data_dir / "tofu.rc"
    content = (
        f'host "{host}" {{\n  services = {{\n'
        f'    "modules.v1"   = "{public_url}/v1/modules/"\n'
        f'    "providers.v1" = "{public_url}/v1/providers/"\n  }}\n}}\n\n'
        f"# For private namespaces: a token from {public_url}/tokens\n"
        f'# credentials "{host}" {{\n#   token = "lrd_…"\n# }}\n'
    )
    replace(path, content.encode(), mode=0o600)
    return path
