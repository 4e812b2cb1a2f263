"""/modules/<address>/graph and /providers/<address>/graph: who uses what, at any distance"""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import Namespace, Visibility
from apps.modules.models import ModuleCall
from apps.releases.models import Release
from tests import pages
from tests.modules.dependents.rows import calls, requires
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules

URL = "/modules/pantry/vpc/aws/graph"
DNS = "/providers/pantry/dns/graph"
BOX = re.compile(r'<a href="(/[^"]*)/graph"><title>')


@pytest.fixture
def vault(db):
    """A private namespace that only staff see."""
    return Namespace.objects.create(name="vault", canonical="vault", visibility=Visibility.PRIVATE)


@pytest.fixture
def chain(pantry, acme, vault):
    """app → stack → vpc → label → tags; stack and label require dns. Only acme's app and the vault's are hidden."""
    modules = {name: add_module(pantry, f"{name}/aws", "1.0.0") for name in ("stack", "vpc", "label", "tags")}
    modules["app"] = add_module(acme, "app/aws", "1.0.0", "2.0.0")
    modules["hidden"] = add_module(vault, "hidden/aws", "3.3.3")
    modules["behind"] = add_module(pantry, "behind/aws", "1.0.0")
    calls(modules["app"], "pantry/stack/aws", constraint="~> 1.0")
    calls(modules["stack"], "pantry/vpc/aws", constraint=">= 0.9")
    calls(modules["vpc"], "pantry/label/aws", "vault/hidden/aws")
    calls(modules["label"], "pantry/tags/aws", source="oci://here.example/pantry/tags/aws?tag=1.0.0")
    calls(modules["hidden"], "pantry/vpc/aws", "pantry/tags/aws")
    calls(modules["behind"], "vault/hidden/aws")
    provider_version(pantry, "dns", "1.0.0", key=row_of_key(pantry, 1))
    provider_version(vault, "secret", "1.0.0", key=row_of_key(vault, 2))
    requires(modules["stack"], "pantry/dns", constraint="~> 1.0")
    requires(modules["label"], "pantry/dns", "vault/secret")
    return modules


def found(response):
    """(address, distance) of the rows, by table."""
    context = response.context
    used_by = [(str(row.node.address), row.node.steps) for row in context["page"].object_list]
    return used_by, [(str(row.node.address), row.node.steps) for row in context["use_rows"]]


def main_of(text):
    return text[text.index("<main") : text.index("</main>")]


@pytest.mark.both
def test_it_shows_every_step_both_ways_as_a_picture_and_as_tables(chain, browser_of, bob):
    response = browser_of(bob).get(URL)
    text = pages.shown(response)

    assert found(response) == (
        [("pantry/stack/aws", 1), ("acme/app/aws", 2)],
        [("pantry/label/aws", 1), ("pantry/dns", 2), ("pantry/tags/aws", 2)],
    )
    assert set(BOX.findall(text)) == {
        "/modules/pantry/vpc/aws", "/modules/pantry/stack/aws", "/modules/acme/app/aws",
        "/modules/pantry/label/aws", "/modules/pantry/tags/aws", "/providers/pantry/dns",
    }  # fmt: skip
    assert "<title>pantry/stack/aws uses pantry/vpc/aws: >= 0.9</title>" in text
    assert "<title>pantry/label/aws uses pantry/tags/aws: tag 1.0.0</title>" in text
    assert "<title>acme/app/aws uses pantry/stack/aws: ~> 1.0</title>" in text


def test_what_is_hidden_neither_appears_nor_counts_nor_leads_further(chain, client, browser_of, bob, olga):
    """Bob does not see the vault: what calls it is not connected for him, though it is in a public namespace."""
    nobody, bobs, olgas = (pages.shown(one.get(URL)) for one in (client, browser_of(bob), browser_of(olga)))

    for word in ("vault", "hidden/aws", "secret", "behind", "3.3.3"):
        assert word not in bobs
    assert "acme/app" not in nobody
    assert "Dependents, on the left: 1" in nobody
    assert "Dependents, on the left: 2" in bobs
    assert "Dependents, on the left: 4" in olgas
    for word in ("vault/hidden/aws", "vault/secret", "pantry/behind/aws"):
        assert word in olgas

    chain["vpc"].versions.get().calls.filter(target_namespace="vault").delete()
    ModuleCall.objects.filter(version__module=chain["hidden"]).delete()
    without = pages.shown(browser_of(bob).get(URL))
    assert main_of(without) == main_of(bobs), "the layout is the same without them"


def test_a_provider_shows_the_modules_that_require_it_and_their_users(chain, client, browser_of, bob):
    used_by, uses = found(browser_of(bob).get(DNS))

    assert used_by == [
        ("pantry/label/aws", 1), ("pantry/stack/aws", 1), ("acme/app/aws", 2), ("pantry/vpc/aws", 2)
    ]  # fmt: skip
    assert uses == []
    assert ("acme/app/aws", 2) not in found(client.get(DNS))[0]
    assert 'href="/providers/pantry/dns/usage">Usage</a>' in pages.shown(client.get("/providers/pantry/dns"))


def test_modules_that_call_each_other_end_and_name_themselves_once(pantry, client):
    one, two = add_module(pantry, "vpc/aws"), add_module(pantry, "two/aws")
    calls(one, "pantry/two/aws", "pantry/vpc/aws")
    calls(two, "pantry/vpc/aws")

    response = client.get(URL)

    assert found(response) == ([("pantry/two/aws", 1)], [("pantry/two/aws", 1)])
    assert sorted(BOX.findall(pages.shown(response))) == ["/modules/pantry/two/aws", "/modules/pantry/vpc/aws"]


@pytest.mark.both
def test_addresses_are_those_of_clients_and_repositories_are_lower_case(pantry, client):
    add_module(pantry, "VPC/aws")
    user, wrong, over_oci = (add_module(pantry, f"{name}/aws") for name in ("user", "wrong", "oci"))
    calls(user, "pantry/VPC/aws")
    calls(wrong, "pantry/vpc/aws")  # clients find nothing there
    calls(over_oci, "pantry/vpc/aws", source="oci://here.example/pantry/vpc/aws")
    calls(add_module(pantry, "far/aws"), "pantry/user/aws", "pantry/oci/aws")

    used_by, _ = found(client.get("/modules/pantry/VPC/aws/graph"))

    assert used_by == [("pantry/oci/aws", 1), ("pantry/user/aws", 1), ("pantry/far/aws", 2)]
    assert found(client.get("/modules/pantry/oci/aws/graph"))[1] == [("pantry/VPC/aws", 1)]
    assert found(client.get("/modules/pantry/wrong/aws/graph"))[1] == []


@pytest.fixture
def newer(pantry):
    """vpc calls four modules whose latest version is 2.0.0, each in another way; `old` has a yanked 1.5.0."""
    vpc = add_module(pantry, "vpc/aws")
    asked = {"any": "", "old": "~> 1.0", "none": "~> 3.0", "tagged": ""}
    for name, constraint in asked.items():
        add_module(pantry, f"{name}/aws", "1.0.0", "1.4.0", "1.5.0", "2.0.0")
        source = f"oci://here.example/pantry/{name}/aws?tag=1.4.0" if name == "tagged" else ""
        calls(vpc, f"pantry/{name}/aws", constraint=constraint, source=source)
    Release.objects.filter(name="old/aws", version="1.5.0").update(lifecycle="yanked")
    Release.objects.filter(name="none/aws", version="1.0.0").update(version="3.1.0", lifecycle="yanked")
    return vpc


def test_a_module_stands_with_the_version_that_its_caller_accepts(newer, client):
    response = client.get(URL)
    text = pages.shown(response)

    assert {str(row.node.address): (row.versions, row.refused) for row in response.context["use_rows"]} == {
        "pantry/any/aws": (["2.0.0"], ""),
        "pantry/none/aws": ([], "2.0.0"),
        "pantry/old/aws": (["1.4.0"], "2.0.0"),
        "pantry/tagged/aws": (["1.4.0"], "2.0.0"),
    }
    assert "<title>Module pantry/old/aws 1.4.0</title>" in text
    assert text.count("</a>, its default") == 3
    assert "If a constraint excludes the default version" in text

    calls(newer, "pantry/old/aws", constraint=">= 2.0")
    [row] = [row for row in client.get(URL).context["use_rows"] if str(row.node.address) == "pantry/old/aws"]
    assert (sorted(row.versions), row.refused) == (["1.4.0", "2.0.0"], ""), "each caller may select another one"


def test_a_module_on_its_own_says_so_and_one_that_nobody_reads_is_not_there(pantry, client):
    add_module(pantry, "vpc/aws")
    assert "No dependencies in this registry" in pages.shown(client.get(URL))

    evil = '"><script>alert(1)</script>'
    calls(add_module(pantry, "user/aws"), "pantry/vpc/aws", constraint=evil)
    text = client.get(URL).text
    assert "<script>alert(1)" not in text
    assert text.count("&lt;script&gt;alert(1)") == 2, "a constraint is text, at the arrow and in the table"
    Release.objects.update(quarantined_at=timezone.now())
    assert client.get(URL).status_code == 404


@pytest.mark.slow
def test_many_users_cost_no_more_and_the_picture_stays_small(pantry, client):
    add_module(pantry, "vpc/aws")
    costs = []
    for first, last in ((0, 12), (12, 130)):
        for module in add_modules(pantry, [f"user{number:03}/aws" for number in range(first, last)]):
            calls(module, "pantry/vpc/aws")
        with CaptureQueriesContext(connection) as queries:
            text = pages.shown(client.get(URL))
        costs.append(len(queries))

    assert costs[0] == costs[1] <= 12
    assert "and 119 more</text>" in text
    assert len(BOX.findall(text)) == 1 + 11
    assert 'Used by <span class="count">130<' in text
    assert "user129" in pages.shown(client.get(f"{URL}?page=3"))
