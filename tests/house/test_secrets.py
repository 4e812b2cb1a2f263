"""No secret is in the tree: cloud keys and the like by detect-secrets, our own tokens by their check value."""

import re
import subprocess
from functools import cache

import pytest
from detect_secrets.core.plugins.initialize import from_plugin_classname
from detect_secrets.core.scan import scan_file
from detect_secrets.settings import transient_settings

from apps.accounts.identity import tokens
from tests import rooms
from tests.house import sources
from tests.rows import for_each_row

# Those that know a secret by its shape. What guesses by entropy or by a variable's name cries at every digest.
SHAPES = (
    "AWSKeyDetector",
    "ArtifactoryDetector",
    "AzureStorageKeyDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "SquareOAuthDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)
# What only looks like one: a first line of a private key with no key behind it, and what the log has to redact.
OF_TESTS = {
    "tests/builders/archives.py": {"Private Key"},
    "tests/builders/canaries.py": {"Private Key", "JSON Web Token"},
    "tests/lib/archives/test_private_keys.py": {"Private Key"},
    "tests/lib/test_redaction.py": {"Private Key"},
    "tests/site/startup/test_certificates.py": {"Private Key"},
    **rooms.rows("SECRETS"),
}


PLUGINS = {"plugins_used": [{"name": name} for name in SHAPES]}


@cache
def patterns() -> list[re.Pattern[str]]:
    found: list[re.Pattern[str]] = []
    with transient_settings(PLUGINS):
        for name in SHAPES:
            found += from_plugin_classname(name).denylist
    return found


def secrets_in(path):
    text, found = path.read_bytes().decode(errors="replace"), set()
    if any(pattern.search(text) for pattern in patterns()):  # its own scan takes the patterns line by line, slowly
        filters = [{"path": "detect_secrets.filters.allowlist.is_line_allowlisted"}]
        with transient_settings({**PLUGINS, "filters_used": filters}):
            found = {secret.type for secret in scan_file(str(path))}
    if any(tokens.is_well_formed(token) for token in re.findall(tokens.TOKEN_PATTERN, text)):
        found.add("Larder token")
    return found


@pytest.mark.needs("repository")
def test_the_tree_holds_no_secrets():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=sources.CHECKOUT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    paths = [path for name in listed.split("\0") if name and (path := sources.CHECKOUT / name).is_file()]
    found = {sources.name_of(path): kinds for path in paths if (kinds := secrets_in(path))}

    assert len(paths) > 1000
    assert all("tests/" in name for name in OF_TESTS)
    assert found == OF_TESTS


@for_each_row(
    ("text", "kind"),
    [
        (f"TOKEN={tokens.new_secret()}", "Larder token"),
        ("aws_access_key_id = AKIA" + "QYLPMN5HIHFSZ7QX", "AWS Access Key"),
        ("-----BEGIN OPENSSH " + "PRIVATE KEY-----", "Private Key"),
        ("gh" + "p_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx", "GitHub Token"),
    ],
    ids=["larder", "aws", "private_key", "github"],  # the first is another one in each worker of xdist
)
def test_it_would_find_them(tmp_path, text, kind):
    file = tmp_path / "settings.tf"
    file.write_text(f"{text}\n")
    assert secrets_in(file) == {kind}
