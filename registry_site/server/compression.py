"""Compress HTML and JSON of more than 1 KB with brotli or gzip, as the client prefers.

Archives, blobs and other downloads are streamed as they are (clients do not decode an archive), and so is what a
digest names (OCI manifests), recognised by its strong ETag.

An attacker who sees the length of compressed answers, and can make a victim's browser send input that appears in them,
can guess a secret in the same answer bit by bit (BREACH). Against that: an answer with `no-store` (tokens, invitations,
upload tickets, capability links, the admin) is not compressed; CSRF tokens are masked differently in each page; the
session's cookie is not sent with requests of other sites (SameSite=Lax); and every compressed answer is padded with a
random number of bytes ("Heal the Breach").
"""

import secrets
from collections.abc import Callable, Iterator

import brotli
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.text import compress_string

MIN_BYTES = 1024
MEDIA_TYPES = ("text/html", "application/json")
MAX_PADDING_BYTES = 100
# Smaller and faster than gzip's level 6, which Django uses.
BROTLI_QUALITY = 5
# A brotli meta-block without data (RFC 7932, 9.2): not the last, length in one byte, which starts at bit 6.
_EMPTY_BLOCK, _LENGTH_AT_BIT = 0b010110, 6


class CompressionMiddleware:
    """Must be outside of middleware that changes the body, and of CommonMiddleware, which sets its length."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not isinstance(response, HttpResponse):
            return response
        media_type = response.headers.get("Content-Type", "").partition(";")[0]
        is_named_by_digest = response.headers.get("ETag", "").startswith('"')
        is_secret = "no-store" in response.headers.get("Cache-Control", "")
        if media_type not in MEDIA_TYPES or is_named_by_digest or is_secret:
            return response
        if len(response.content) < MIN_BYTES or response.has_header("Content-Encoding"):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        # The client's preferred encoding, brotli if equal; empty if Larder supports none, or for `identity`.
        # `*` alone counts as none: clients that cannot read brotli do not always say so.
        liked = dict(_weights(request.headers.get("Accept-Encoding", "")))
        best = max((name for name in ENCODERS if liked.get(name)), key=lambda name: liked[name], default="")
        encoding = best if best and liked[best] > liked.get("identity", 0) else ""
        if encoding:
            response.content = ENCODERS[encoding](response.content)
            response.headers["Content-Encoding"] = encoding
            response.headers["Content-Length"] = str(len(response.content))
        return response


def _brotli(data: bytes) -> bytes:
    padding = secrets.token_bytes(1 + secrets.randbelow(MAX_PADDING_BYTES))
    head = _EMPTY_BLOCK | (len(padding) - 1) << _LENGTH_AT_BIT
    compressor = brotli.Compressor(quality=BROTLI_QUALITY)
    # After a flush the next meta-block begins on a byte boundary.
    begun: bytes = compressor.flush() + head.to_bytes(2, "little") + padding
    return begun + bytes(compressor.process(data)) + bytes(compressor.finish())


def _gzip(data: bytes) -> bytes:
    """Compress with Django's padding, a random file name in the gzip header."""
    return compress_string(data, max_random_bytes=MAX_PADDING_BYTES)


ENCODERS: dict[str, Callable[[bytes], bytes]] = {"br": _brotli, "gzip": _gzip}


def _weights(accept: str) -> Iterator[tuple[str, float]]:
    """Yield the codings of Accept-Encoding with their weights; 0 for an invalid weight."""
    for item in accept.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        weight = next((text.removeprefix("q=") for text in parameters if text.startswith("q=")), "1")
        try:
            yield name, float(weight)
        except ValueError:
            yield name, 0.0
