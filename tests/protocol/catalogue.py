"""Modules as rows with everything that a document can show, at times that golden files can hold."""

from datetime import UTC, datetime, timedelta

from apps.modules.catalogue import entries
from apps.modules.models import Module
from apps.releases.models import Lifecycle, Release, SearchDoc
from tests.portal.rows import add_module

REPOSITORY = "https://git.example.com/acme/terraform-aws-vpc"
FIRST = datetime(2026, 1, 2, 3, 4, 5, 60000, tzinfo=UTC)


def unit(path="", kind="root", name="", **parts):
    names = ("required_version", "variables", "outputs", "resources", "providers", "calls", "warnings")
    fields = {"path": path, "kind": kind, "name": name, "readme": "", "summary": ""}
    return {**fields, **{one: [] for one in names}, **parts}


def _optional(name, kind, default, **value):
    return {"name": name, "type": kind, "default": default, "required": False, "description": "", **value}


INSPECTION = {
    "units": [
        unit(
            variables=[
                {"name": "cidr", "type": "string", "default": None, "required": True, "description": "The range."},
                _optional("tags", "map(string)", '{\n  Über = "1"\n}', value={"Über": "1"}),
                _optional("zone", "string", '"a"', value="a"),
                _optional("size", "number", "null", value=None),
                _optional("names", "set(string)", 'toset(["a"])'),
                _optional("key", "string", "(sensitive)", sensitive=True),
            ],
            outputs=[{"name": "vpc_id", "description": "Its id."}],
            resources=[
                {"mode": "managed", "type": "aws_vpc", "name": "this"},
                {"mode": "data", "type": "aws_region", "name": "here"},
            ],
            providers=[
                {"name": "aws", "source": "hashicorp/aws", "version": ">= 5.0"},
                {"name": "random", "source": "", "version": ""},
            ],
            calls=[{"name": "subnets", "source": "./modules/subnets", "version": ""}],
        ),
        unit(
            "modules/subnets",
            "submodule",
            "subnets",
            readme="<p>Cuts it.</p>",
            outputs=[{"name": "ids", "description": ""}],
        ),
        unit("examples/complete", "example", "complete"),
    ]
}


def fill(acme, pantry, hall) -> Module:
    """acme/vpc in two systems with a history, one module in pantry and hall each, and one that is yanked altogether."""
    vpc = add_module(
        acme,
        "vpc/aws",
        *("1.2.0", "1.10.0", "1.11.0", "2.0.0-rc.1", "1.9.0"),
        summary="A network for an account",
        readme_html="<h1>VPC</h1>",
        readmes={"": "# VPC\n", "modules/subnets": "Cuts *it*.\n"},
        inspection=INSPECTION,
    )
    Module.objects.filter(pk=vpc.pk).update(source_url=REPOSITORY)
    add_module(acme, "vpc/google", "0.1.0", summary="A network for a project")
    add_module(pantry, "label/null", "0.25.0", "1.0.0-beta.1")
    add_module(hall, "dns_zone/aws", "3.0.0", summary="Zones, and a network of them")
    add_module(pantry, "gone/aws", "1.0.0")
    add_module(pantry, "sealed/aws", "1.0.0")
    for position, release in enumerate(Release.objects.order_by("pk")):
        Release.objects.filter(pk=release.pk).update(published_at=FIRST + timedelta(days=position))
    Release.objects.filter(version="1.11.0").update(lifecycle=Lifecycle.YANKED)
    Release.objects.filter(version="1.9.0").update(quarantined_at=FIRST)
    Release.objects.filter(name="gone/aws").update(lifecycle=Lifecycle.YANKED)
    Release.objects.filter(name="sealed/aws").update(quarantined_at=FIRST)
    for module in Module.objects.select_related("namespace"):
        entries.refresh(module)
    SearchDoc.objects.filter(namespace=acme, name="vpc/aws").update(downloads=4_484)
    return Module.objects.select_related("namespace").get(pk=vpc.pk)
