"""Every nasty case of oci.md, section 8, is named by a test: look for "Case 14" under tests/oci and tests/e2e."""

import re

from tests.live import CHECKOUT


def test_every_nasty_case_is_named_by_a_test():
    files = [*CHECKOUT.glob("tests/oci/**/test_*.py"), *CHECKOUT.glob("tests/e2e/oci/test_*.py")]
    texts = [file.read_text() for file in files]
    named = {int(number) for text in texts for number in re.findall(r"\b(?:[Cc]ase |test_case_)(\d+)", text)}
    assert set(range(1, 26)) - named == set()
