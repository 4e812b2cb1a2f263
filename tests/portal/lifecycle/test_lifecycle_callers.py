"""A yank names its affected modules, in whatever form they call theirs"""

import re

import pytest

from apps.releases.models import Lifecycle, Release
from tests import pages
from tests.builders.archives import module_zip

HOST = "registry.example.com:8443"
AT = "/modules/acme/lib/aws"
OTHER = "0" * 64
PLAIN = '  source = "{host}/acme/lib/aws"\n  version = {version}\n'
OCI = '  source = "oci://{host}/acme/lib/aws{rest}"\n'
BY_TAG = "still gets it by its tag"
MAY = "may use this version"
# What the module `caller` says; what its row says on the page of 1.1.0, None where it has none.
CALLS = {
    "exact": (PLAIN.format(host=HOST, version='"1.1.0"'), "Modules that fail: no other version fits"),
    "range": (PLAIN.format(host=HOST, version='"~> 1.0"'), "1.2.0"),
    "other": (PLAIN.format(host=HOST, version='"1.2.0"'), None),
    "local": (PLAIN.format(host=HOST, version="local.v"), "may fail: its constraint is unknown"),
    "ocitag": (OCI.format(host=HOST, rest="?tag=1.1.0"), BY_TAG),
    "ocifolder": (OCI.format(host=HOST.upper(), rest="//modules/inner?tag=1.1.0_build"), BY_TAG),
    "ociothertag": (OCI.format(host=HOST, rest="?tag=1.2.0"), None),
    "ocilatest": (OCI.format(host=HOST, rest="?tag=latest"), "1.2.0"),
    "ocinone": (OCI.format(host=HOST, rest=""), "1.2.0"),
    "ocistable": (OCI.format(host=HOST, rest="?tag=stable"), MAY),
    "ocidigest": (OCI.format(host=HOST, rest=f"?digest=sha256:{OTHER}"), MAY),
}
ELSEWHERE = {
    "otherhost": OCI.format(host="registry.example.org", rest="?tag=1.1.0"),
    "noport": OCI.format(host="registry.example.com", rest="?tag=1.1.0"),
    "longer": OCI.format(host=HOST, rest="/more?tag=1.1.0"),
}


@pytest.fixture
def published_calls(settings, published):
    settings.PUBLIC_HOST = HOST
    for version in ("1.1.0", "1.2.0", "1.3.0"):
        published("acme/lib/aws", version)
    # No caller can be sent to a version that is yanked itself.
    Release.objects.filter(name="lib/aws", version="1.3.0").update(lifecycle=Lifecycle.YANKED)
    for name, body in {**{name: call[0] for name, call in CALLS.items()}, **ELSEWHERE}.items():
        published(f"acme/{name}/aws", "1.0.0", data=module_zip({"main.tf": f'module "lib" {{\n{body}}}\n'}))


@pytest.mark.slow
def test_each_caller_is_named_with_what_becomes_of_it(published_calls, browser_of, dora):
    browser = browser_of(dora)
    page = pages.shown(browser.get(f"{AT}/1.1.0/lifecycle?act=yank"))
    found: dict[str, str] = {}
    for group in page.split('data-hit="module"')[1:]:
        title = group.partition("<h3>")[2].partition("</h3>")[0]
        rows = re.findall(r'<tr><th scope="row"><a href="/modules/acme/(\w+)/aws/1.0.0">(.*?)</tr>', group, re.DOTALL)
        found |= {name: f"{title} {' '.join(re.sub(r'<[^>]*>', ' ', row).split())}" for name, row in rows}

    assert set(found) == {name for name, (_, says) in CALLS.items() if says}
    for name, row in found.items():
        assert str(CALLS[name][1]) in row, (name, row)
    assert "local.v" in found["local"]
    assert "tag 1.1.0_build" in found["ocifolder"]
    assert next(iter(found)) == "exact", "those that fail come first"

    usage = pages.shown(browser.get(f"{AT}/usage"))
    for name in CALLS | ELSEWHERE:
        assert (f'href="/modules/acme/{name}/aws/1.0.0"' in usage) == (name in CALLS), name
    caller = pages.shown(browser.get("/modules/acme/ocitag/aws/1.0.0/dependencies"))
    assert 'href="/modules/acme/lib/aws"' in caller
    assert "In this registry" in caller
