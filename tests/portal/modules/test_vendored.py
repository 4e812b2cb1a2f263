"""static/vendor: other people's files, unchanged and with their licences"""

import hashlib
import tomllib

import pytest
from django.conf import settings

VENDOR = settings.BASE_DIR / "static" / "vendor"
PACKAGES = tomllib.loads((VENDOR / "VENDORED.toml").read_text())["vendored"]
SUMS = {name: digest for package in PACKAGES for name, digest in package["sha256"].items()}


@pytest.mark.parametrize("name", sorted(SUMS))
def test_a_file_is_what_its_package_holds(name):
    assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == SUMS[name]


def test_every_file_is_listed():
    found = {path.relative_to(VENDOR).as_posix() for path in VENDOR.rglob("*") if path.is_file()}
    assert found == {*SUMS, "VENDORED.toml"}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package["name"])
def test_a_package_names_its_version_source_and_licence_and_is_in_the_notice(package):
    assert package["version"] in package["source"]
    assert package["license_file"] in package["sha256"]
    notice = (settings.BASE_DIR / "NOTICE").read_text()
    assert f"\n{package['name']} {package['version']}\n" in notice.lower()
    assert f"static/vendor/{package['license_file']}" in notice
