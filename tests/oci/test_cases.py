"""Every nasty case of oci.md, section 8, is named by a test: look for "Case 14" under tests/oci and tests/e2e."""

import re

import pytest

from tests.live import CHECKOUT

pytestmark = pytest.mark.both

CASES = {
    1: "a chunk of unknown length",
    2: "large manifests",
    3: "chunks out of order and repeated",
    4: "a closing chunk with a wrong range",
    5: "a client that leaves in the middle",
    6: "two chunks for one offset",
    7: "two that finish one upload, and many that push one blob",
    8: "a wrong digest in every way to push",
    9: "sha512 alone",
    10: "nothing, and braces in many repositories",
    11: "guessing digests of private blobs",
    12: "odd mounts",
    13: "who comes in at /v2/, and hidden as missing",
    14: "tokens that end during an upload",
    15: "a token for pulling that pushes",
    16: "proxies and forged hosts",
    17: "digests of other bytes, and odd ones",
    18: "what a manifest names and is not there",
    19: "two jobs push one version",
    20: "the same zip a minute later",
    21: "tags that are versions, and others",
    22: "names of repositories",
    23: "pages of tags",
    24: "collecting garbage during pushes",
    25: "signatures, and deleting a tag of a release",
}


def test_every_nasty_case_is_named_by_a_test():
    files = [*CHECKOUT.glob("tests/oci/**/test_*.py"), *CHECKOUT.glob("tests/e2e/oci/test_*.py")]
    texts = [file.read_text() for file in files]
    named = {int(number) for text in texts for number in re.findall(r"\b(?:[Cc]ase |test_case_)(\d+)", text)}
    assert CASES.keys() - named == set()
