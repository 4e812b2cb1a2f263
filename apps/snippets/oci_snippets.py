"""Commands and blocks to use this Larder over OCI, with the right host."""

from django.conf import settings

from apps.lib.addresses import ModuleAddress
from apps.lib.formats.oci_manifests import MODULE_PACKAGE, ZIP
from apps.lib.net.hostnames import as_written
from apps.snippets.client_setup import TOKEN, Snippet, wire_host

# For readers without an account: any user name works.
USER = "token"
# Any fixed time: otherwise oras writes the current one, and the same zip becomes another package.
CREATED = '--annotation "org.opencontainers.image.created=$(git log -1 --format=%cI)"'


def source(address: ModuleAddress, version: str, folder: str = "") -> str:
    inside = f"//{folder}" if folder else ""
    return f"oci://{wire_host()}/{address.repository}{inside}?tag={version.replace('+', '_')}"


def logins() -> list[Snippet]:
    """They write `~/.docker/config.json`, or podman's file, which OpenTofu reads too."""
    return [
        Snippet(
            f"Login with {program}", f'echo "$LARDER_TOKEN" | {program} login {wire_host()} --username {USER} {stdin}'
        )
        for program, stdin in (("docker", "--password-stdin"), ("oras", "--password-stdin"))
    ]


def credentials() -> Snippet:
    body = f'  username = "{USER}"\n  password = "{TOKEN}"'
    return Snippet("OCI credentials block", f'oci_credentials "{wire_host()}" {{\n{body}\n}}')


def mirror() -> Snippet | None:
    """`include` and `exclude` are required: a mirror without the requested provider aborts `init`.

    None if no host name is known by which clients call our providers.
    """
    if not settings.HOSTNAMES:
        return None
    template = f'"{wire_host()}/providers/${{hostname}}/${{namespace}}/${{type}}"'
    names = ", ".join(f'"{as_written(name)}/*/*"' for name in sorted(settings.HOSTNAMES))
    lines = [
        "provider_installation {",
        "  oci_mirror {",
        f"    repository_template = {template}",
        f"    include             = [{names}]",
        "  }",
        "  direct {",
        f"    exclude = [{names}]",
        "  }",
        "}",
    ]
    return Snippet("Provider installation by the OCI mirror", "\n".join(lines))


def push(address: ModuleAddress, version: str) -> Snippet:
    """Zip with git, and push the zip under the version's tag."""
    file = f"{address.name}-{version}.zip"
    lines = [
        f"git archive --format=zip --output={file} HEAD",
        f"oras push --artifact-type {MODULE_PACKAGE} \\",
        f"  {CREATED} \\",
        f"  {wire_host()}/{address.repository}:{version.replace('+', '_')} {file}:{ZIP}",
    ]
    return Snippet("Commands that push a package", "\n".join(lines))
