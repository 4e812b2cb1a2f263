"""What an operator types about the way to a registry."""

import pytest

from apps.lib.errors import Invalid
from apps.upstream import connection_values
from tests.rows import for_each_row


@for_each_row(
    "url",
    [
        "https://larder.example",
        "https://LARDER.example:443/",
        "https://providers.example",
        "https://Providers.Example:443",
    ],
)
def test_a_url_of_this_larder_is_refused(settings, url):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "larder.example", frozenset({"providers.example"})

    with pytest.raises(Invalid, match="is this Larder"):
        connection_values.checked_url(url)


def test_a_url_of_another_registry_is_taken_without_its_slash(settings):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "larder.example", frozenset({"providers.example"})

    assert connection_values.checked_url(" https://registry.larder.example/ ") == "https://registry.larder.example"
    assert connection_values.checked_url(" ") == ""
