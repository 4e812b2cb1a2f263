"""Private keys in archives are recognised by their bytes; placeholders in examples are not keys."""

import io
import json
from textwrap import indent

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from apps.lib.archives import sandboxed
from tests.builders.archives import PRIVATE_KEY, module_zip
from tests.builders.keys import signing_key
from tests.builders.tars import gz, module_tar

LIMITS = sandboxed.Limits()
PKCS8, OPENSSL, OPENSSH = PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL, PrivateFormat.OpenSSH
LOCKED = BestAvailableEncryption(b"sesame")
ED25519, P256, RSA = (
    ed25519.Ed25519PrivateKey.generate(),
    ec.generate_private_key(ec.SECP256R1()),
    rsa.generate_private_key(65537, 1024),  # noqa: S505  # its size makes no difference
)


def armored(key, form, encryption=None) -> str:
    return key.private_bytes(Encoding.PEM, form, encryption or NoEncryption()).decode()


SHORTEST = armored(ED25519, PKCS8)
KEYS = {
    "the shortest": SHORTEST,
    "Ed25519, OpenSSH": armored(ED25519, OPENSSH),
    "Ed25519, locked": armored(ED25519, PKCS8, LOCKED),
    "P-256": armored(P256, OPENSSL),
    "P-256, PKCS 8": armored(P256, PKCS8),
    "RSA": armored(RSA, OPENSSL),
    "RSA, locked": armored(RSA, OPENSSL, LOCKED),
    "RSA, OpenSSH": armored(RSA, OPENSSH),
    "of no use": PRIVATE_KEY,
    "with the ends of lines of Windows": SHORTEST.replace("\n", "\r\n"),
    "indented": indent(SHORTEST, "      "),
    "as comments": indent(SHORTEST, "# "),
    "as JSON": json.dumps({"private_key": armored(RSA, PKCS8)}),
    "behind a placeholder": f"-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----\n{SHORTEST}",
    "in a heredoc": f"key = <<-EOT\n{indent(SHORTEST, '  ')}EOT\n",
    "late in the file": "#" * 60_000 + SHORTEST,
    "at the end of what is read": "#" * (64 * 1024 - 30) + SHORTEST,
    "PuTTY": "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 2\n"
    "AAAAC3NzaC1lZDI1NTE5AAAAIHJCszOHaI9X/yGLtjn22f0hO6VPMQDVtctkym6F\nJH1W\nPrivate-Lines: 1\n"
    "AAAAIGvvIpl8jyqn8Xufkw6v3FnEGtXF3KWw55AP3/AGEBpY\nPrivate-MAC: 2a629acfcfbe28488a1ba9b6948c36406bc28422\n",
}
BEGIN = "-----BEGIN RSA PRIVATE KEY-----\n"
PLACEHOLDERS = {
    "the first line alone": BEGIN,
    "nothing between": f"{BEGIN}-----END RSA PRIVATE KEY-----\n",
    "words": f"{BEGIN}content+of+api+key\n-----END RSA PRIVATE KEY-----\n",
    "dots": f"{BEGIN}...\n-----END RSA PRIVATE KEY-----\n",
    "the first letters of a key": f"{BEGIN}MIIEpAIBAAKCAQEA...\n-----END RSA PRIVATE KEY-----\n",
    "one letter": f"{BEGIN}{'x' * 64}\n{'x' * 64}\n-----END RSA PRIVATE KEY-----\n",
    "a path": f"{BEGIN}/path/to/where/your/private/key/lies/on/the/disk\n-----END RSA PRIVATE KEY-----\n",
    "a sentence": f"{BEGIN}Put the contents of your RSA key here, all 27 lines of it, as the console shows them.\n",
    "a variable": BEGIN + "${var.private_key}\n-----END RSA PRIVATE KEY-----\n",
    "a certificate behind it": f"{BEGIN}...\n-----BEGIN CERTIFICATE-----\n{'MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq' * 20}\n",
    "of OpenPGP": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n...\n",
    "of PuTTY": "PuTTY-User-Key-File-3: ssh-ed25519\n",
    "a public key": "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n",
    "a certificate": "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq\n",
    "words about keys": "Put your PRIVATE KEY here: BEGIN RSA PRIVATE KEY\n",
    "a key too far down": "#" * 70_000 + SHORTEST,
}


def zipped(files) -> tuple[str, ...]:
    return sandboxed.read(io.BytesIO(module_zip(files)), LIMITS).private_keys


def tarred(files) -> tuple[str, ...]:
    return sandboxed.read(io.BytesIO(gz(module_tar(files))), LIMITS, form="tar.gz").private_keys


both = pytest.mark.parametrize("keys_in", [zipped, tarred], ids=["zip", "tar.gz"])


@both
def test_it_names_files_that_hold_a_private_key_at_most_a_hundred_and_no_placeholders(keys_in):
    assert keys_in(KEYS | {"main.tf": "x"}) == tuple(KEYS)
    assert keys_in(PLACEHOLDERS) == ()
    assert len(keys_in({f"{number}.pem": SHORTEST for number in range(150)})) == 100


def test_a_key_of_openpgp_is_named():
    assert zipped({"x.asc": signing_key("ed25519").secret_armor}) == ("x.asc",)


def test_thousands_of_first_lines_cost_little():
    files = {f"{number}.md": BEGIN * 2_000 for number in range(50)}

    assert sandboxed.read(io.BytesIO(module_zip(files)), sandboxed.Limits(seconds=5)).private_keys == ()
