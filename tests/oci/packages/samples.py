"""A package as it is pushed, and the same zip in another one."""

from typing import Any

from apps.accounts.access.gate import Viewer
from apps.accounts.models import User
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from tests.builders.archives import module_zip
from tests.oci.manifests.documents import package

NAME = "pantry/vpc/aws"
ZIP = module_zip()
RAW = package(ZIP)
LATER = package(ZIP, annotations={"org.opencontainers.image.created": "2026-11-21T12:00:00Z"})


def said(answer: Any) -> str:
    return str(answer.json()["errors"][0]["message"])


def purge(staff: User, version: str) -> None:
    reason, confirm = "It has a key.", f"{NAME} {version}"
    lifecycle.purge(
        viewer=Viewer(staff), address=ModuleAddress.parse(NAME), version=version, reason=reason, confirm=confirm
    )
