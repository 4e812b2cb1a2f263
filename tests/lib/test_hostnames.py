import pytest

from apps.lib.errors import Invalid
from apps.lib.net.hostnames import as_written, normalised, on_the_wire
from tests.rows import for_each_row


@for_each_row(
    ("text", "found"),
    [
        ("registry.acme.example", "registry.acme.example"),
        ("Registry.ACME.Example", "registry.acme.example"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("straße.example", "xn--strae-oqa.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"),
    ],
)
def test_names_are_normalised_as_clients_do(text, found):
    assert normalised(text) == found


@for_each_row("text", ["", "a b", "registry.example:8443", "[::1]", "a/b", "a_b.example", "é\0", "ü" * 70])
def test_what_is_no_host_name_is_refused(text):
    with pytest.raises(Invalid):
        normalised(text)


def test_a_port_is_refused_with_the_reason():
    with pytest.raises(Invalid, match="without a port") as refused:
        normalised("registry.example:8443")

    assert "network mirror" in refused.value.hint


@for_each_row(
    ("written", "wire"),
    [
        ("registry.bücher.example", "registry.xn--bcher-kva.example"),
        ("bücher.example:8443", "xn--bcher-kva.example:8443"),
        ("registry.acme.example:8443", "registry.acme.example:8443"),
        ("127.0.0.1:8443", "127.0.0.1:8443"),
        ("[::1]:8443", "[::1]:8443"),
    ],
)
def test_a_host_is_written_with_its_letters_and_sent_in_ascii(written, wire):
    assert on_the_wire(written) == on_the_wire(wire) == wire
    assert as_written(wire) == as_written(written) == written


def test_a_label_that_encodes_nothing_is_shown_as_it_is():
    assert as_written("xn--a.example") == "xn--a.example"
