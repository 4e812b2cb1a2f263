"""Documentation of providers, as authors lay it out today and as they did before."""

from collections.abc import Iterator, Mapping

from apps.lib.addresses import ProviderAddress
from apps.providers.docs import sources
from apps.providers.models import DocsPage
from apps.releases.docs import layouts
from tests.builders.zips import Member, build

TODAY = {
    "docs/index.md": (
        '---\npage_title: "Provider: DNS"\ndescription: |-\n  Looks after\n  names.\n---\n\n# DNS Provider\n\n'
        "Look at [records](resources/record.md), [sets](./data-sources/a_record_set#attributes) and "
        "[the guide](/providers/hashicorp/dns/latest/docs/guides/getting-started).\n\n## Example Usage\n\n"
        '```terraform\nprovider "dns" {}\n```\n'
    ),
    "docs/resources/record.md": (
        '---\nsubcategory: "Records & Sets"\npage_title: "dns_record Resource"\n---\n# dns_record (Resource)\n\n'
        "-> **Note:** Names are lower case.\n\n~> **Warning** Deleting deletes.\n\n!> It is gone.\n\n"
        "## Argument Reference\n\nSee [the overview](../index.md) and [nothing](../resources/absent.md).\n"
    ),
    "docs/resources/zone.md": '---\nsubcategory: "Zones"\n---\n# Resource: dns_zone\n\nA zone.\n',
    "docs/data-sources/a_record_set.md": "# dns_a_record_set\n\n## Attributes\n\nSome.\n",
    "docs/functions/reverse.md": "---\npage_title: reverse function\n---\n# function: reverse\n",
    "docs/ephemeral-resources/key.md": "# dns_key (Ephemeral Resource)\n",
    "docs/guides/getting-started.md": "---\npage_title: Getting started\n---\n# Begin here\n",
    "docs/cdktf/python/resources/record.md": "# not shown\n",
    "docs/images/logo.png": "no page",
}
BEFORE = {
    "website/docs/index.html.markdown": '---\nlayout: "dns"\npage_title: "Provider: DNS"\n---\n# DNS Provider\n\n'
    "[record](r/record.html) [set](/docs/providers/dns/d/a_record_set.html)\n",
    "website/docs/r/record.html.markdown": "# dns_record\n\n[home](../index.html)\n",
    "website/docs/d/a_record_set.html.markdown": "# dns_a_record_set\n",
    "website/docs/guides/upgrade.html.md": "---\npage_title: 'Upgrade Guide'\n---\n# Upgrading\n",
    "website/dns.erb": "no page",
}


def full(hostile: str) -> dict[str, str]:
    """Return as many pages as a provider of a middling size has, long names and tables among them, and a hostile
    one.
    """
    records = {
        f"docs/{folder}/record_{number}.md": f"---\nsubcategory: Records of kind {number % 5}\n---\n# A record\n"
        for folder in ("resources", "data-sources")
        for number in range(40)
    }
    long = "an_unusually_long_name_of_a_resource_that_nobody_can_type_twice_in_a_row"
    table = "| Argument | Meaning |\n|---|---|\n" + "| `a_rather_long_argument` | " + "words " * 40 + "|\n"
    quoted = " ".join(hostile.split()).replace('"', "'")
    front = f'page_title: "{quoted}"\nsubcategory: "{quoted}"'
    return {
        **TODAY,
        **records,
        f"docs/resources/{long}.md": f"# dns_{long}\n\n{table}\n```terraform\n{'wide ' * 60}\n```\n",
        "docs/guides/hostile.md": f"---\n{front}\n---\n# {hostile}\n\n!> {hostile}\n",
    }


def pages(files: Mapping[str, str], address: ProviderAddress, version: str) -> Iterator[DocsPage]:
    """The worker's pages of these files, unsaved."""
    found = layouts.pages_in(files, is_archive=True)
    texts = {place: files[name].encode() for place, name in found.items()}
    return sources.render(texts, address, version)


def archive(files: Mapping[str, str | bytes] = TODAY, *, top: str = "") -> bytes:
    """A zip of them; `top` is a folder around them all."""
    texts = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    return build([Member(f"{top}{name}", data) for name, data in texts.items()])
