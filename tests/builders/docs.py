"""Documentation of providers, as authors lay it out today and as they did before."""

from collections.abc import Mapping

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


def archive(files: Mapping[str, str | bytes] = TODAY, *, top: str = "") -> bytes:
    """A zip of them; `top` is a folder around them all."""
    texts = {name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}
    return build([Member(f"{top}{name}", data) for name, data in texts.items()])
