"""Hostile texts, values, headers and bodies: some parser or database cannot take each of them."""

import base64
from typing import Any

# fmt: off
SURROGATE = "\ud800"
TEXTS = [
    *("", " ", "\0", "a\0b", SURROGATE, f"acme{SURROGATE}", "a--b", "-", "..", ".", "/", "//", "%", "%00", "%2f", "\\"),
    *("\r\nX-Injected: 1", "\t", "\u202e", "\ufeff", "é", "İ", "ß", "ﬁ", "٣", "²", "\U0001f980", "\x7f", "\x1b[0m"),
    *("0", "-1", "1", "00", "+1", " 1", "1_000", "0x10", "1e309", "NaN", "Infinity", "1.5", "true", "null", "None"),
    *(str(2**31), str(2**63 - 1), str(2**63), str(-(2**63) - 1), str(2**64), "9" * 30, "9" * 5000, "x" * 300),
    *("x" * 5000, "é" * 400, "[]", "{}", '"', "'", "';--", "<script>", "{{7*7}}", "${x}", "a,b", "a;b", "a=b&c", "*"),
    *("2025-13-45", "9999-12-31T23:59:59Z", "0001-01-01", "10000-01-01", "2025-02-30T25:61:61+99:99", "0000-00-00"),
    *("1.0.0", "v1.0.0", "1.0", "99999999999999999999.0.0", "1.0.0-" + "a" * 300, "1.0.0+" + "b" * 300, "01.0.0"),
    *("sha256:" + "0" * 64, "sha256:zz", "sha512:" + "0" * 128, "md5:x", "0" * 64, "0" * 40, "A" * 40, "0" * 16),
    *("acme", "pantry", "acme/vpc/aws", "pantry/dns", "alice", "olga", "main", "latest", "aws", "dns", "x86", "amd64"),
    *("00000000-0000-0000-0000-000000000000", "0" * 32, "https://[::1", "http://a:99999/", "//evil", "javascript:1"),
    *("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\né\n-----END PGP PUBLIC KEY BLOCK-----", "deadbeef  x.zip\n"),
]
# What stands in a URL undecoded: bytes that are not UTF-8, broken escapes.
RAW = ["%", "%zz", "%ff", "%c0%af", "%ed%a0%80", "%00", "%0d%0a", "%2e%2e", "%252f", "%f0%9f%a6%80", "+", "%20"]
# What one database refuses, or one codec.
WORST = [SURROGATE, "a\0b", "é", "x" * 5000, "9" * 30, "a--b", "²"]
VALUES: list[Any] = [None, True, False, 0, -1, 2**31, 2**63, 2**64, 10**400, 1.5, 1e308, [], {}, [[]], {"a": {}}]
HEADERS: dict[str, list[str]] = {
    "HTTP_AUTHORIZATION": [
        *("Bearer", "Bearer ", "Bearer \xff", "Basic", "Basic !!!", "Basic /w==", "Digest x", "\xff", "Bearer a b"),
        *("Bearer " + "x" * 9000, "Bearer lrd_u_" + "0" * 42, "Bearer lrd_\xb2", "Bearer lrl.x.y", "Bearer ey.ey.ey"),
        *("Basic " + base64.b64encode(text).decode() for text in (b"", b"a:b\0", b"\xff:\xff", b"a", "ü:é".encode())),
    ],
    "CONTENT_TYPE": [
        *("", "text/plain", "application/json", "application/json; charset=utf-16", "application/json; charset=\xff"),
        *("application/x-www-form-urlencoded; charset=rot13", "application/x-www-form-urlencoded; charset=utf-7"),
        *("multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\xff", "\xff/\xff"),
        *("multipart/form-data; boundary=" + "x" * 300, "multipart/mixed; boundary=cut", "a/b; c*=utf-8''%ff", ";;;"),
        *("application/vnd.oci.image.manifest.v1+json", "application/vnd.oci.image.index.v1+json", "application/zip"),
    ],
    "CONTENT_LENGTH": ["-1", "abc", "\xb2", "1e3", "0", " 5 ", "9" * 17, "9" * 30, "1", "99999"],
    "HTTP_CONTENT_RANGE": ["0-", "-", "bytes 0-0/0", "0-99999999999999999999", "9" * 18 + "-" + "9" * 18, "\xff"],
    "HTTP_RANGE": ["bytes=", "bytes=-", "bytes=-0", "bytes=0-0,1-1", "bytes=9" + "9" * 30 + "-", "bytes=\xb2-"],
    "HTTP_IF_NONE_MATCH": ["*", "W/", '"', '"x', "\xff", '"' + "x" * 5000 + '"'],
    "HTTP_IF_MATCH": ["*", "\xff"],
    "HTTP_IF_RANGE": ["\xff", '"x"'],
    "HTTP_IF_MODIFIED_SINCE": ["\xff", "Mon, 99 Foo 99999 99:99:99 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "9" * 400],
    "HTTP_IF_UNMODIFIED_SINCE": ["Mon, 31 Feb 2025 00:00:00 GMT"],
    "HTTP_COOKIE": ["=", ";;;", "\xff=\xff", "__Host-larder-session=\xff", "messages=x", "a" * 9000],
    "HTTP_HOST": ["", "[::", "a b", "\xff", "127.0.0.1:x", "127.0.0.1:99999999", "localhost.", "x" * 300],
    "HTTP_ORIGIN": ["null", "\xff", "https://[::1", "https://", "x"],
    "HTTP_REFERER": ["https://[::1", "\xff", "/", "https://testserver/" + "x" * 5000],
    "HTTP_ACCEPT": ["", "\xff", "*/*;q=x", "text/html;q=9e999", "a/b, " * 300],
    "HTTP_ACCEPT_LANGUAGE": ["\xff", "x" * 600, "de;q=x"],
    "HTTP_ACCEPT_ENCODING": ["\xff", "gzip;q=x"],
    "HTTP_X_REQUEST_ID": ["\xff", "", "a b", "x" * 65],
    "HTTP_X_FORWARDED_FOR": ["\xff", "::1, \0", "x" * 5000],
    "HTTP_X_FORWARDED_PROTO": ["\xff", "http"],
    "HTTP_HX_REQUEST": ["true"],
    "HTTP_HX_CURRENT_URL": ["https://[::1", "\xff"],
    "HTTP_X_CSRFTOKEN": ["\xff", "x"],
    "HTTP_X_TERRAFORM_GET": ["\xff"],
    "HTTP_X_TERRAFORM_VERSION": ["\xff", "9" * 5000],
    "HTTP_USER_AGENT": ["\xff", "", "Terraform/9", "OpenTofu/" + "9" * 5000],
    "HTTP_X_HTTP_METHOD_OVERRIDE": ["DELETE"],
    "HTTP_TRANSFER_ENCODING": ["chunked"],
}
BODIES = [
    *(b"", b"\0", b"\xff\xfe", b"{", b"[]", b"null", b'"x"', b"1", b"{}", b'{"a":', b'\xef\xbb\xbf{"a": 1}', b"NaN"),
    *(b"[" * 100_000, b'{"a":' * 50_000, b"1" * 10_000, b"PK\x03\x04", b"x=%ff%ff", b"&" * 5000, b"a=b&" * 5000),
    *(b"--cut\r\n", b"--cut--", b'--cut\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n\xff\r\n--cut--\r\n'),
    b'--cut\r\nContent-Disposition: form-data; name="archive"; filename="\xed\xa0\x80\0.zip"\r\n\r\nPK\r\n--cut--\r\n',
    b"--cut\r\nContent-Disposition: form-data; name*=utf-8''%ff; filename*=x\r\n\r\nPK\r\n--cut--\r\n",
    b'{"schemaVersion": 2, "mediaType": "\\ud800", "layers": [{"digest": 1}], "config": {"size": -1}}',
    b'{"schemaVersion": 1e400, "manifests": [{"digest": "sha256:x", "size": 1e400, "platform": null}], "subject": []}',
]
# fmt: on
