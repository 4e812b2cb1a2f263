"""Logos: shapes and colours pass, and nothing that acts, fetches or is large."""

import struct

import pytest

from apps.lib.errors import Invalid
from apps.lib.formats import logos
from tests.rows import for_each_row

OPEN = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 8 8">'


def svg(inside: str) -> bytes:
    return f"{OPEN}{inside}</svg>".encode()


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x06\0\0\0"


SHAPES = '<style>.a{fill:url(#g)}</style><linearGradient id="g"/><path class="a" d="M0 0h8v8z"/><use xlink:href="#g"/>'


@for_each_row(
    ("body", "content_type"),
    [
        (svg(SHAPES), "image/svg+xml"),
        (b'\xef\xbb\xbf<?xml version="1.0"?><!-- ours -->' + svg(""), "image/svg+xml"),
        (png(64, 64), "image/png"),
    ],
)
def test_shapes_are_a_logo(body, content_type):
    found = logos.read(body)
    assert (found.body, found.content_type) == (body, content_type)


@for_each_row(
    "body",
    [
        svg("<script>alert(1)</script>"),
        svg('<g onload="alert(1)"/>'),
        svg('<foreignObject><b xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>'),
        svg('<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>'),
        svg('<a href="javascript:alert(1)"/>'),
        svg('<use xlink:href="https://elsewhere.example/a.svg#b"/>'),
        svg('<image href="https://elsewhere.example/a.png"/>'),
        svg('<path fill="url(https://elsewhere.example/#a)"/>'),
        svg("<style>@import 'https://elsewhere.example/a.css'</style>"),
        svg(r"<style>a{fill:\75rl(//elsewhere.example)}</style>"),
        svg('<animate attributeName="href" to="https://elsewhere.example/"/>'),
        b'<!DOCTYPE svg [<!ENTITY a "b">]>' + svg("&a;"),
        b'<?xml-stylesheet href="https://elsewhere.example/a.css"?>' + svg(""),
        b"<html/>",
        b"<svg/>",
        b"<svg",
        b"GIF89a\xff",
        png(0, 64),
        png(64, 5000),
        svg(" " * logos.MAX_BYTES),
        b"",
    ],
)
def test_everything_else_is_refused_with_what_was_found(body):
    with pytest.raises(Invalid, match=r"found .*expected"):
        logos.read(body)
