"""Frozen documents, and a zip whose bytes never change."""

import base64
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import Scope, User
from tests.builders.outages import database_away

__all__ = ["database_away"]

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def golden() -> Callable[[str], bytes]:
    """The frozen bytes of a document. Clients parse them: changing one needs a reason in the commit."""
    return lambda name: (GOLDEN / name).read_bytes().removesuffix(b"\n")


@pytest.fixture
def frozen_zip() -> bytes:
    """A module whose archive has the same digest in every run, so that golden files can hold it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo("main.tf", date_time=(2026, 1, 1, 0, 0, 0)), 'output "a" { value = 1 }\n')
    return file.getvalue()


@pytest.fixture
def basic() -> Callable[[User], dict[str, str]]:
    """Headers as a client with a .netrc entry sends them: any name, the token as password."""

    def headers(user: User) -> dict[str, str]:
        _, secret = tokens.issue(user=user, label="netrc", scope=Scope.READ, actor=Viewer(user))
        return {"Authorization": "Basic " + base64.b64encode(f"anything:{secret}".encode()).decode()}

    return headers
