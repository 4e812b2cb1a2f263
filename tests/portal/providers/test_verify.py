"""The commands under Origin, pasted: gpg, gpgv and sha256sum accept the served files."""

import hashlib
import html
import os
import subprocess

from tests.builders.keys import gpg_home, signing_key
from tests.protocol.providers import cast as shelf


def bytes_of(answer, client):
    return b"".join(client.get(answer.headers["Location"]).streaming_content)


def test_its_commands_succeed_and_fail_as_they_should(acme, bob, browser_of, client, tmp_path):
    made = signing_key("ed25519")
    version = shelf.add_version(shelf.add_key(acme, made), made, "dns", "1.2.0")
    browser, at = browser_of(bob), "/providers/acme/dns/1.2.0"
    moved = browser.get(f"{at}/verify")
    assert (moved.status_code, moved.url) == (301, f"{at}/origin#checksums")
    page = browser.get(f"{at}/origin")
    assert 'id="checksums"' in page.text
    sums = tmp_path / page.context["sums_name"]
    (tmp_path / "key.asc").write_text(version.key.armor)
    sums.write_bytes(bytes_of(browser.get(f"{at}/sums"), client))
    (tmp_path / f"{sums.name}.sig").write_bytes(bytes_of(browser.get(f"{at}/signature"), client))
    for one in version.packages.all():
        data = bytes_of(browser.get(f"{at}/packages/{one.os}/{one.arch}"), client)
        assert hashlib.sha256(data).hexdigest() == one.digest
        (tmp_path / one.filename).write_bytes(data)

    def typed(command):
        environment = {**os.environ, "GNUPGHOME": str(home)}
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, check=False)
        return done.returncode

    commands = [command for _, command in page.context["sums_commands"]]
    assert all(command in html.unescape(page.text) for command in commands)
    with gpg_home() as home:
        assert [typed(command) for command in commands] == [0, 0, 0, 0]
        package = tmp_path / version.packages.earliest("pk").filename
        for tool, changed in (("gpg --verify", sums), ("gpgv", sums), ("sha256sum", package)):
            sound = changed.read_bytes()
            changed.write_bytes(b"something else")
            assert typed(next(command for command in commands if tool in command)) != 0, tool
            changed.write_bytes(sound)
