"""Search over 45 modules and providers that exist: what a person would expect first, judged by hand."""

import csv
from pathlib import Path

import pytest

from apps.accounts.access.gate import NOBODY
from apps.accounts.models import Namespace, Visibility
from apps.releases.catalogue.everything import everything
from tests.releases.docs import add_doc

pytestmark = pytest.mark.both
AWS, GOOGLE = "terraform-aws-modules", "terraform-google-modules"
FIRST = {
    "provider null": "hashicorp/null",
    "null provider": "hashicorp/null",
    "providers aws": "hashicorp/aws",
    "provider kubernetes": "hashicorp/kubernetes",
    "hashicorp/random": "hashicorp/random",
    "random": "hashicorp/random",
    "cloudflare": "cloudflare/cloudflare",
    "azurerm provider": "hashicorp/azurerm",
    "module null": "cloudposse/label/null",
    "enable_nat_gateway": f"{AWS}/vpc/aws",
    "nat": f"{GOOGLE}/cloud-nat/google",
    "cloud nat": f"{GOOGLE}/cloud-nat/google",
    "natgateway": "Azure/avm-res-network-natgateway/azurerm",
    "vpc": f"{AWS}/vpc/aws",
    "vpc module": f"{AWS}/vpc/aws",
    "cloudposse vpc": "cloudposse/vpc/aws",
    "google vpc": f"{GOOGLE}/network/google",
    "network": f"{GOOGLE}/network/google",
    "eks": f"{AWS}/eks/aws",
    "kubernetes module": f"{GOOGLE}/kubernetes-engine/google",
    "gke": f"{GOOGLE}/kubernetes-engine/google",
    "aks": "Azure/aks/azurerm",
    "azure/aks": "Azure/aks/azurerm",
    "security group": f"{AWS}/security-group/aws",
    "s3": f"{AWS}/s3-bucket/aws",
    "bucket": f"{AWS}/s3-bucket/aws",
    "rds": f"{AWS}/rds/aws",
    "aurora": f"{AWS}/rds-aurora/aws",
    "database": f"{AWS}/rds/aws",
    "lambda": f"{AWS}/lambda/aws",
    "load balancer": f"{AWS}/alb/aws",
    "certificate": f"{AWS}/acm/aws",
    "dns": f"{AWS}/route53/aws",
    "cdn": f"{AWS}/cloudfront/aws",
    "queue": f"{AWS}/sqs/aws",
    "label": "cloudposse/label/null",
    "private_subnets": f"{AWS}/vpc/aws",
    "transit gateway": f"{AWS}/transit-gateway/aws",
    "dynamodb": f"{AWS}/dynamodb-table/aws",
    "key vault": "Azure/avm-res-keyvault-vault/azurerm",
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
            add_doc(spaces[name], row["name"], row["description"], inputs=row["inputs"].split(","), **fields)


def test_what_a_person_expects_comes_first(shelf):
    assert len(FIRST) == 40
    found = {}
    for query, wanted in FIRST.items():
        docs = [hit.doc for group in everything(NOBODY, query).groups for hit in group.hits if hit.doc]
        if not docs or str(docs[0]) != wanted:
            found[query] = [str(doc) for doc in docs[:4]]
    assert found == {}
