"""static/vendor: other people's files, unchanged and with their licences"""

import hashlib
import tomllib

from django.conf import settings

VENDOR = settings.BASE_DIR / "static" / "vendor"
PACKAGES = tomllib.loads((VENDOR / "VENDORED.toml").read_text())["vendored"]
SUMS = {name: digest for package in PACKAGES for name, digest in package["sha256"].items()}


def test_every_file_is_listed_and_what_its_package_holds():
    files = {path for path in VENDOR.rglob("*") if path.is_file() and path.name != "VENDORED.toml"}
    found = {path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert found == SUMS


def test_a_package_names_its_version_source_and_licence_and_is_in_the_notice():
    notice = (settings.BASE_DIR / "NOTICE").read_text()
    assert [package["name"] for package in PACKAGES if package["version"] not in package["source"]] == []
    assert [package["name"] for package in PACKAGES if package["license_file"] not in package["sha256"]] == []
    assert [one["name"] for one in PACKAGES if f"\n{one['name']} {one['version']}\n" not in notice.lower()] == []
    assert [one["name"] for one in PACKAGES if f"static/vendor/{one['license_file']}" not in notice] == []
