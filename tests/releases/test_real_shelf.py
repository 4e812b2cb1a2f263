"""Searches of 45 modules and eight providers that exist: what a person would expect first, judged by hand.

Names are real; downloads are made up, descriptions are in our own words, with some of what each declares.
"""

import csv
import re
from pathlib import Path

import pytest

from apps.accounts.models import Namespace, Visibility
from tests import pages
from tests.releases.docs import add_doc

pytestmark = pytest.mark.both
AWS, GOOGLE, AZURE = "terraform-aws-modules", "terraform-google-modules", "Azure"
FIRST = {
    # The kind that is asked for.
    "provider null": "hashicorp/null",
    "null provider": "hashicorp/null",
    "providers aws": "hashicorp/aws",
    "provider kubernetes": "hashicorp/kubernetes",
    "module null": "cloudposse/label/null",
    "vpc module": f"{AWS}/vpc/aws",
    "kubernetes module": f"{GOOGLE}/kubernetes-engine/google",  # called so, whatever the downloads of others
    # Names and addresses.
    "hashicorp/random": "hashicorp/random",
    "cloudflare": "cloudflare/cloudflare",
    "vpc": f"{AWS}/vpc/aws",
    "cloudposse vpc": "cloudposse/vpc/aws",
    "network": f"{GOOGLE}/network/google",
    "iam": f"{AWS}/iam/aws",
    "iam google": f"{GOOGLE}/iam/google",
    "azure/aks": f"{AZURE}/aks/azurerm",
    "label": "cloudposse/label/null",
    "subnet": "cloudposse/dynamic-subnets/aws",
    "s3": f"{AWS}/s3-bucket/aws",
    "bucket": f"{AWS}/s3-bucket/aws",
    "aurora": f"{AWS}/rds-aurora/aws",
    "dynamodb": f"{AWS}/dynamodb-table/aws",
    "security group": f"{AWS}/security-group/aws",
    "transit gateway": f"{AWS}/transit-gateway/aws",
    "cloud nat": f"{GOOGLE}/cloud-nat/google",
    # What a description says.
    "google vpc": f"{GOOGLE}/network/google",
    "gke": f"{GOOGLE}/kubernetes-engine/google",
    "load balancer": f"{AWS}/alb/aws",
    "database": f"{AWS}/rds/aws",
    "certificate": f"{AWS}/acm/aws",
    "dns": f"{AWS}/route53/aws",
    "cdn": f"{AWS}/cloudfront/aws",
    "redis": f"{AWS}/elasticache/aws",
    "queue": f"{AWS}/sqs/aws",
    "key vault": f"{AZURE}/avm-res-keyvault-vault/azurerm",
    # What is declared.
    "nat gateway": f"{AWS}/vpc/aws",
    "enable_nat_gateway": f"{AWS}/vpc/aws",
    "private subnets": f"{AWS}/vpc/aws",
    "internet gateway": f"{AWS}/vpc/aws",
    "route table": f"{AWS}/vpc/aws",
    "launch template": f"{AWS}/autoscaling/aws",
}


@pytest.fixture
def shelf(db):
    spaces = {}
    with (Path(__file__).parent / "shelf.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name = row["namespace"]
            if name not in spaces:
                public = {"canonical": name.lower(), "visibility": Visibility.PUBLIC}
                spaces[name] = Namespace.objects.create(name=name, **public)
            fields = {"kind": row["kind"], "downloads": int(row["downloads"])}
            fields |= {what: row[what].split(",") for what in ("resources", "inputs", "outputs")}
            add_doc(spaces[name], row["name"], row["description"], **fields)


@pytest.mark.slow
def test_a_search_over_everything_or_one_kind_finds_first_what_a_person_expects(client, tofu, shelf):
    """Each is looked for over everything and in its kind; the pages and the protocol, which ask the same, in turn."""
    assert len(FIRST) == 40
    found, api = {}, tofu()
    for number, (query, wanted) in enumerate(FIRST.items()):
        kind = "modules" if wanted.count("/") > 1 else "providers"
        parts = ("namespace", "name", "system") if kind == "modules" else ("namespace", "type")
        groups = api.get("/api/v1/search", {"q": query}).json()["groups"]
        rows = api.get(f"/api/v1/{kind}", {"q": query}).json()[kind]
        answers = {
            "api": next(row["address"] for group in groups for row in group["results"]),
            "api of the kind": "/".join(rows[0][part] for part in parts) if rows else "",
        }
        if number % 8 == 0:
            answers["page"] = _first_link(pages.markup_of(client.get("/search", {"q": query})))
            answers["page of the kind"] = _first_link(pages.markup_of(client.get(f"/{kind}", {"q": query})))
        if number % 8 == 5 and kind == "modules":
            rows = api.get("/v1/modules/search", {"q": query}).json()["modules"]
            answers["protocol"] = rows[0]["id"].rpartition("/")[0] if rows else ""
        if set(answers.values()) != {wanted}:
            found[query] = answers
    assert found == {}


def _first_link(page):
    """The module or provider to which the first hit belongs."""
    link = re.search(r'href="/(?:modules/([^/"?]+/[^/"?]+/[^/"?]+)|providers/([^/"?]+/[^/"?]+))[/"]', page)
    return (link[1] or link[2]) if link else ""
