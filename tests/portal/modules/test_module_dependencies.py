"""/modules/<address>/<version>/dependencies: what a module builds on, and who builds on it"""

import re

import pytest
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import Namespace, Visibility
from apps.modules.catalogue import entries
from apps.modules.models import Module, ModuleCall, ModuleVersion
from apps.releases.models import Release
from tests import pages
from tests.builders.archives import module_zip
from tests.modules.dependents.rows import calls
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module

AT = "/modules/acme/vpc/aws/1.0.0/dependencies"
USERS = "/modules/acme/label/null/usage"
CALLS = """
terraform {{
  required_version = ">= 1.6"
  required_providers {{
    aws = {{
      source                = "hashicorp/aws"
      version               = ">= 5.0, < 7.0"
      configuration_aliases = [aws.peer]
    }}
  }}
}}
module "label" {{
  source  = "{host}/pantry/label/null"
  version = "~> 1.0"
}}
module "secret" {{
  source = "{host}/vault/keys/aws//modules/inner"
}}
module "elsewhere" {{
  source = "terraform-aws-modules/vpc/aws"
}}
module "inner" {{
  source = "./modules/inner"
}}
module "up" {{
  source = "../outside"
}}
"""


@pytest.fixture
def vault(db):
    """A private namespace that only staff see."""
    found = Namespace.objects.create(name="vault", canonical="vault", visibility=Visibility.PRIVATE)
    add_module(found, "keys/aws", "1.0.0")
    return found


@pytest.fixture
def vpc(settings, vault, published):
    settings.PUBLIC_HOST = "registry.xn--bcher-kva.example"  # what configurations write as below
    published("pantry/label/null", "1.0.0")
    files = {"main.tf": CALLS.format(host="registry.bücher.example"), "modules/inner/main.tf": "# inner\n"}
    return published("acme/vpc/aws", "1.0.0", data=module_zip(files))


def test_providers_of_this_registry_lead_to_their_pages(settings, published, browser_of, bob, acme, vault):
    settings.PUBLIC_HOST, settings.HOSTNAMES = "xn--bcher-kva.example:8443", ["registry.example.com"]
    team = Namespace.objects.create(name="My_Team", canonical="my-team", visibility=Visibility.PUBLIC)
    for namespace, number in ((acme, 1), (vault, 2), (team, 3)):
        provider_version(namespace, "dns", "1.0.0", key=row_of_key(namespace, number))
    sources = [
        "Registry.example.com/acme/dns",
        "bücher.example:8443/my-team/dns",
        "bücher.example:8443/vault/dns",
        "acme/dns",
        "else.where/acme/dns",
    ]
    needed = "".join(f'p{number} = {{ source = "{source}" }}\n' for number, source in enumerate(sources))
    published(
        "acme/vpc/aws", "1.0.0", data=module_zip({"main.tf": f"terraform {{\nrequired_providers {{\n{needed}}}\n}}\n"})
    )
    page = pages.shown(browser_of(bob).get(AT))

    for name, source in zip(("acme", "My_Team"), sources, strict=False):
        assert f'href="/providers/{name}/dns">{source}</a> <span class="badge">In this registry' in page
    for other in sources[2:]:
        assert f"<code>{other}</code>" in page, "hidden from Bob, or someone else's"


def test_providers_and_calls_are_listed_and_lead_to_what_the_reader_may_see(browser_of, bob, olga, vpc):
    bobs, olgas = pages.shown(browser_of(bob).get(AT)), pages.shown(browser_of(olga).get(AT))

    for expected in ("hashicorp/aws", ">= 5.0, < 7.0", "aws.peer", "../outside"):
        assert f"<code>{expected}</code>" in bobs
    assert 'href="/modules/acme/vpc/aws/1.0.0/submodules/inner">./modules/inner</a>' in bobs
    assert 'href="/modules/pantry/label/null"' in bobs
    assert 'href="/modules/vault/keys/aws"' not in bobs
    assert "registry.bücher.example/vault/keys/aws//modules/inner" in bobs  # the author's words, which Bob may read
    assert 'href="/modules/vault/keys/aws"' in olgas
    assert bobs.count("In this registry") == 1
    words = re.sub(r"<[^>]+>", " ", browser_of(bob).get("/modules/acme/vpc/aws/1.0.0").text).split()
    needs = "Requires OpenTofu or Terraform &gt;= 1.6 hashicorp/aws &gt;= 5.0, &lt; 7.0"
    assert needs in " ".join(words)


@pytest.mark.both
def test_it_shows_the_version_that_each_constraint_selects(settings, published, browser_of, bob, acme, pantry, vault):
    host, key = settings.PUBLIC_HOST, row_of_key(pantry, 1)
    for number in ("1.0.0", "1.4.0", "1.5.0", "2.0.0"):
        published("pantry/label/null", number)
        provider_version(pantry, "dns", number, key=key)
    Release.objects.filter(namespace=pantry, version="1.5.0").update(lifecycle="yanked")
    asked = {"near": "~> 1.0", "any": "", "lost": "~> 3.0", "gone": "1.5.0", "built": "${var.v}"}
    blocks = [
        f'module "{name}" {{\nsource = "{host}/pantry/label/null"\nversion = "{one}"\n}}' for name, one in asked.items()
    ]
    blocks += [f'module "hidden" {{\nsource = "{host}/vault/keys/aws"\n}}']
    # Packages may have digests that no version has; a tag that is a version is published as one.
    packages = {"pinned": f"digest=sha256:{'0' * 64}", "stable": "tag=stable", "tagged": "tag=9.9.9"}
    blocks += [
        f'module "{name}" {{\nsource = "oci://{host}/pantry/label/null?{query}"\n}}' for name, query in packages.items()
    ]
    needed = f'dns = {{\nsource = "{host}/pantry/dns"\nversion = "~> 1.0"\n}}\naws = {{\nsource = "hashicorp/aws"\n}}'
    blocks += [f"terraform {{\nrequired_providers {{\n{needed}\n}}\n}}"]
    published("acme/vpc/aws", "1.0.0", data=module_zip({"main.tf": "\n".join(blocks)}))
    browser = browser_of(bob)
    page = pages.shown(browser.get(AT))

    selects = re.findall(r'selects <a class="mono" href="([^"]*)">', page)
    label, dns = "/modules/pantry/label/null", "/providers/pantry/dns"
    assert selects == [f"{dns}/1.4.0", f"{label}/1.4.0", f"{label}/2.0.0"]
    unmatched = re.findall(r'<th scope="row" class="mono">\s*(\w+)(?:(?!</tr>).)*No version matches', page, re.DOTALL)
    assert unmatched == ["lost", "gone", "tagged"]  # not what is computed, nor what Bob may not see
    assert pages.queries_of(browser, AT) <= 14
    assert all(browser.get(url).status_code == 200 for url in selects)


def test_the_usage_counts_callers_by_their_default_version_and_none_in_quarantine(browser_of, bob, acme):
    def is_used_by(count):
        page = pages.shown(browser_of(bob).get(USERS))
        return (f'Modules <span class="count">{count}<' if count else "No module uses it") in page

    calls(add_module(acme, "label/null", "1.0.0"), "acme/label/null", unit="modules/inner")  # itself: no news
    user = add_module(acme, "user/aws", "1.0.0")
    calls(user, "acme/label/null", "acme/label/null")
    assert is_used_by(1)
    Release.objects.filter(name="user/aws").update(quarantined_at=timezone.now())
    with transaction.atomic():
        entries.refresh(Module.objects.select_related("namespace").get(pk=user.pk))
    assert is_used_by(0)

    newer = add_module(acme, "newer/aws", "1.0.0", "2.0.0")
    old = ModuleVersion.objects.get(module=newer, release__version="1.0.0")
    place = {"target_namespace": "acme", "target_name": "label", "target_system": "null"}
    ModuleCall.objects.create(version=old, name="x", source="x", **place)
    assert is_used_by(0)


def test_a_module_with_neither_says_so(browser_of, bob, published):
    published("acme/vpc/aws", "1.0.0", data=module_zip({"main.tf": "# nothing\n"}))

    text = pages.shown(browser_of(bob).get(AT))

    assert "needs no provider and calls no other module" in text
    assert 'on its <a href="/modules/acme/vpc/aws/usage">Usage</a> tab.' in " ".join(text.split())
