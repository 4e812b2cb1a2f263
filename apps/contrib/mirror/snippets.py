"""Text to copy about providers of other registries: how clients get them from this Larder."""

from collections.abc import Iterable, Sequence

from django.conf import settings

from apps.lib.net.hostnames import as_written
from apps.snippets import client_setup
from apps.snippets.client_setup import Snippet

# By client, with the file in which it looks for the configuration of its command line; "" for both.
LABELS = {
    "": "For ~/.tofurc (OpenTofu) or ~/.terraformrc (Terraform)",
    "tofu": "For ~/.tofurc (OpenTofu)",
    "terraform": "For ~/.terraformrc (Terraform)",
}


def mirror_url() -> str:
    """Clients append the host, the namespace and the type."""
    return f"{settings.PUBLIC_URL}/v1/mirror/"


def everything_block(hosts: Sequence[str], *, client: str = "") -> Snippet:
    """Use Larder for everything: providers of the mirrored `hosts` come from its mirror and from nowhere else.

    Larder's own providers come from its registry, where clients check the publisher's signature and learn the hashes
    of every platform. Clients take each provider from one method alone, so the two lists are the same.
    """
    patterns = [f"{as_written(host)}/*/*" for host in hosts]
    lines = [
        "provider_installation {",
        "  network_mirror {",
        f'    url     = "{mirror_url()}"',
        f"    include = {_listed(patterns)}",
        "  }",
        "  direct {",
        f"    exclude = {_listed(patterns)}",
        "  }",
        "}",
    ]
    return Snippet(LABELS[client], "\n".join(lines))


def with_credentials(block: Snippet) -> Snippet:
    """The block with the token for Larder, which clients send to the mirror as well."""
    return Snippet(block.label, f"{client_setup.credentials().text}\n\n{block.text}")


def required_block(host: str, namespace: str, kind: str, constraint: str) -> str:
    return (
        "terraform {\n  required_providers {\n"
        f'    {kind} = {{\n      source  = "{as_written(host)}/{namespace}/{kind}"\n      version = "{constraint}"\n'
        "    }\n  }\n}"
    )


def lock_block(host: str, namespace: str, kind: str, version: str, *, h1: Iterable[str], zh: Iterable[str]) -> str:
    """For `.terraform.lock.hcl`, as clients write it."""
    lines = "".join(f'    "{one}",\n' for one in [*sorted(set(h1)), *sorted(set(zh))])
    return (
        f'provider "{as_written(host)}/{namespace}/{kind}" {{\n  version     = "{version}"\n'
        f'  constraints = "{version}"\n  hashes = [\n{lines}  ]\n}}'
    )


def _listed(patterns: Sequence[str]) -> str:
    if len(patterns) == 1:
        return f'["{patterns[0]}"]'
    return "[\n" + "".join(f'      "{pattern}",\n' for pattern in patterns) + "    ]"
