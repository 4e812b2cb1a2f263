"""A version's page says which modules of this registry would not accept it"""

import pytest

from apps.accounts.models import Namespace, Visibility
from tests import pages
from tests.modules.dependents.rows import calls, requires
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules

CALLERS = {
    "older": {"constraint": "~> 1.0"},
    "exact": {"constraint": "1.0.0"},
    "fits": {"constraint": ">= 1.0"},
    "any": {},
    "unknown": {"constraint": "local.version"},
    "tagged": {"source": "oci://here.example/pantry/vpc/aws?tag=1.0.0"},
    "same": {"source": "oci://here.example/pantry/vpc/aws?tag=2.0.0"},
    "stable": {"source": "oci://here.example/pantry/vpc/aws?tag=stable"},
    "digest": {"source": "oci://here.example/pantry/vpc/aws?digest=sha256:00"},
}
URL = "/modules/pantry/vpc/aws/{}"


def refusing(response):
    return {one.address.name: one.asked for one in response.context["refusing"]}


@pytest.fixture
def called(pantry):
    add_module(pantry, "vpc/aws", "1.0.0", "2.0.0", "3.0.0-beta.1")
    for name, how in CALLERS.items():
        calls(add_module(pantry, f"{name}/aws"), "pantry/vpc/aws", **how)


@pytest.mark.both
def test_it_names_modules_whose_constraint_excludes_it_and_that_the_reader_sees(called, client, browser_of, olga):
    vault = Namespace.objects.create(name="vault", canonical="vault", visibility=Visibility.PRIVATE)
    calls(add_module(vault, "hidden/aws"), "pantry/vpc/aws", constraint="< 2")
    response = client.get(URL.format("2.0.0"))
    text = pages.shown(response)

    assert refusing(response) == {"older": "~> 1.0", "exact": "1.0.0", "tagged": "tag 1.0.0"}
    assert 'Would not accept 2.0.0 <span class="count">3<' in text
    assert 'href="/modules/pantry/older/aws/1.0.0">pantry/older/aws</a> <code class="small">~> 1.0</code>' in text
    assert refusing(browser_of(olga).get(URL.format("2.0.0")))["hidden"] == "< 2"
    assert refusing(client.get(URL.format("1.0.0"))) == {"same": "tag 2.0.0"}
    assert "data-refusing" not in pages.shown(client.get(URL.format("3.0.0-beta.1"))), "nobody gets one unasked"


def test_a_providers_version_says_the_same(pantry, client):
    key = row_of_key(pantry, 1)
    for version in ("1.0.0", "2.0.0"):
        provider_version(pantry, "dns", version, key=key)
    requires(add_module(pantry, "old/aws"), "pantry/dns", constraint="< 2.0.0")
    requires(add_module(pantry, "new/aws"), "pantry/dns", constraint=">= 2.0.0")

    assert refusing(client.get("/providers/pantry/dns/2.0.0")) == {"old": "< 2.0.0"}
    assert refusing(client.get("/providers/pantry/dns/1.0.0")) == {"new": ">= 2.0.0"}


def test_many_are_counted_and_ten_are_named(pantry, client):
    add_module(pantry, "vpc/aws", "2.0.0")
    for module in add_modules(pantry, [f"user{number:02}/aws" for number in range(12)]):
        calls(module, "pantry/vpc/aws", constraint="< 1")

    text = pages.shown(client.get(URL.format("2.0.0")))

    assert '<span class="count">12<' in text
    assert "These are the first 10" in text
    assert text.count('<code class="small">< 1</code>') == 10
