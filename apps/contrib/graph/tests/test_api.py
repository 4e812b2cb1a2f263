"""GET /api/v1/modules/…/dependents and …/dependencies, /api/v1/providers/…/dependents"""

import pytest

from apps.accounts.models import Namespace, Visibility
from apps.modules.dependents import users
from apps.releases.models import Release
from tests.modules.dependents.rows import calls, requires
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules

VPC = "/api/v1/modules/pantry/vpc/aws"
DNS = "/api/v1/providers/pantry/dns"


@pytest.fixture
def chain(pantry):
    """app → stack → vpc → label; stack requires dns. The vault, which few see, calls vpc."""
    vault = Namespace.objects.create(name="vault", canonical="vault", visibility=Visibility.PRIVATE)
    modules = {name: add_module(pantry, f"{name}/aws", "1.0.0") for name in ("app", "stack", "vpc", "label")}
    calls(modules["app"], "pantry/stack/aws", constraint="~> 1.0")
    calls(modules["stack"], "pantry/vpc/aws", constraint=">= 0.9")
    calls(modules["vpc"], "pantry/label/aws")
    calls(add_module(vault, "hidden/aws"), "pantry/vpc/aws")
    provider_version(pantry, "dns", "1.0.0", key=row_of_key(pantry, 1))
    requires(modules["stack"], "pantry/dns", constraint="~> 1.0")
    return modules


def test_it_lists_direct_dependents_with_their_constraints_and_says_if_it_is_cut(
    chain, client, tofu, olga, monkeypatch
):
    said = client.get(f"{VPC}/dependents").json()

    assert said == {
        "dependents": [
            {
                "kind": "module",
                "address": "pantry/stack/aws",
                "version": "1.0.0",
                "steps": 1,
                "through": [{"address": "pantry/vpc/aws", "constraints": [">= 0.9"]}],
            }
        ],
        "next": None,
        "is_complete": True,
    }
    seen = [one["address"] for one in tofu(olga).get(f"{VPC}/dependents").json()["dependents"]]
    assert seen == ["pantry/stack/aws", "vault/hidden/aws"]
    monkeypatch.setattr(users, "MAX_USES", 1)
    assert client.get(f"{VPC}/dependents").json()["is_complete"] is False


@pytest.mark.both
def test_steps_say_how_far(chain, client):
    def addresses(url, what):
        return [(one["address"], one["steps"]) for one in client.get(url).json()[what]]

    stack = "/api/v1/modules/pantry/stack/aws"
    assert addresses(f"{VPC}/dependents?steps=2", "dependents") == [("pantry/stack/aws", 1), ("pantry/app/aws", 2)]
    assert addresses(f"{stack}/dependencies", "dependencies") == [("pantry/dns", 1), ("pantry/vpc/aws", 1)]
    assert addresses(f"{stack}/dependencies?steps=5", "dependencies")[2:] == [("pantry/label/aws", 2)]
    assert addresses("/api/v1/modules/pantry/app/aws/dependencies", "dependencies") == [("pantry/stack/aws", 1)]
    assert addresses(f"{DNS}/dependents?steps=5", "dependents") == [("pantry/stack/aws", 1), ("pantry/app/aws", 2)]
    assert client.get(f"{VPC}/dependents?steps=9").status_code == 422
    assert client.get(f"{VPC}/dependents?cursor=x").status_code == 422
    assert client.get("/api/v1/modules/pantry/none/aws/dependents").status_code == 404


@pytest.mark.both
def test_of_a_provider_one_version_is_selected_that_all_constraints_allow(
    pantry, client, django_assert_max_num_queries
):
    """Of a module one for each call: that is tested with the pictures of portal/versions."""
    key = row_of_key(pantry, 1)
    for number in ("1.0.0", "1.4.0", "1.5.0", "2.0.0", "3.0.0-beta1"):
        provider_version(pantry, "dns", number, key=key)
    Release.objects.filter(kind="provider", version="1.5.0").update(lifecycle="yanked")
    for name, constraints in {
        "app": ["~> 1.0"],
        "tool": [""],
        "both": ["~> 1.0", "< 1.4"],
        "lost": ["~> 4.0"],
        "yanked": ["1.5.0"],
        "beta": ["3.0.0-beta1"],
        "nonsense": ["latest"],
    }.items():
        module = add_module(pantry, f"{name}/aws")
        for constraint in constraints:
            requires(module, "pantry/dns", constraint=constraint)
    calls(add_module(pantry, "above/aws"), "pantry/app/aws", "pantry/tool/aws")

    def selected(name):
        url = f"/api/v1/modules/pantry/{name}/aws/dependencies?steps=5"
        return next(one["selected"] for one in client.get(url).json()["dependencies"] if one["kind"] == "provider")

    assert [selected(name) for name in ("app", "tool", "both")] == [["1.4.0"], ["2.0.0"], ["1.0.0"]]
    assert [selected(name) for name in ("lost", "yanked", "nonsense")] == [[], [], []]
    assert selected("beta") == ["3.0.0-beta1"]
    assert selected("above") == ["1.4.0"]

    many = add_module(pantry, "many/aws")
    for name in [f"dns{number}" for number in range(8)]:
        provider_version(pantry, name, "1.0.0", key=key)
        requires(many, f"pantry/{name}", constraint="~> 1.0")
    with django_assert_max_num_queries(8):  # the versions of all providers are read at once
        rows = client.get("/api/v1/modules/pantry/many/aws/dependencies").json()["dependencies"]
    assert [row["selected"] for row in rows] == [["1.0.0"]] * 8


@pytest.mark.slow
def test_long_lists_have_pages(pantry, client, django_assert_max_num_queries):
    add_module(pantry, "vpc/aws")
    for module in add_modules(pantry, [f"user{number:03}/aws" for number in range(130)]):
        calls(module, "pantry/vpc/aws")

    with django_assert_max_num_queries(8):
        first = client.get(f"{VPC}/dependents").json()
    second = client.get(first["next"]).json()

    assert (len(first["dependents"]), len(second["dependents"]), second["next"]) == (100, 30, None)
    assert second["dependents"][-1]["address"] == "pantry/user129/aws"
