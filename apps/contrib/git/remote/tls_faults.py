"""Explain why TLS with a server failed, from the words of Python's OpenSSL, and of libcurl with OpenSSL or GnuTLS."""

import re

from apps.contrib.git.remote.access import GitFailed

NOT_TRUSTED, TLS_FAILED = "not_trusted", "tls_failed"
_CA_FILE = "LARDER_OUTGOING_CA_FILE"
_OTHER_NAME = (
    "Use a host name that is in the certificate, or ask the server's administrator to add this one. A file of "
    "authorities does not help."
)
_AUTHORITY = (
    f"If it is a private authority, an operator can add its certificate to the file that {_CA_FILE} names. If it is a "
    "public one, the server sends no intermediate certificate: ask its administrator to install the whole chain."
)

# The first that fits decides: the code, the words, what was found, and how to fix it.
_FAULTS: tuple[tuple[str, str, str, str], ...] = (
    (
        TLS_FAILED,
        r"certificate[ _](is[ _])?required",
        "The server requires a client certificate, which Larder does not have.",
        "Have the server's administrator allow a token or deploy key instead.",
    ),
    (
        NOT_TRUSTED,
        r"(hostname|ip address) mismatch|does not match (target host name|the expected)|no alternative certificate sub",
        "The server's certificate is for another host name.",
        _OTHER_NAME,
    ),
    (
        NOT_TRUSTED,
        r"has expired|uses expired|certificate( is)? expired",
        "The server's certificate has expired.",
        "Have the server's administrator renew it. If it was renewed, compare the clock of Larder's worker.",
    ),
    (
        NOT_TRUSTED,
        r"not yet (valid|activated)",
        "The server's certificate is not valid yet.",
        "Compare the clocks of the server and of Larder's worker.",
    ),
    (
        NOT_TRUSTED,
        r"self[- ]signed certificate(?! in)",
        "The server's certificate is self-signed.",
        f"An operator can add it to the file that {_CA_FILE} names. Or ask the server's administrator to replace it.",
    ),
    (
        NOT_TRUSTED,
        r"unable to get (local )?issuer|self[- ]signed certificate in|issuer is unknown|unable to verify|unknown ca\b",
        "The server's certificate is from an authority that Larder does not know.",
        _AUTHORITY,
    ),
    (
        NOT_TRUSTED,
        r"certificate verif|certificate problem|peer certificate|not trusted",
        "The server's certificate is not trusted.",
        f"Compare its host name and dates. {_AUTHORITY}",
    ),
    (
        TLS_FAILED,
        r"wrong[ _]version[ _]number|unexpected TLS packet|http[ _]request|record layer",
        "The server does not use TLS.",
        "Check the port in the URL: it may be that of plain http or ssh.",
    ),
    (
        TLS_FAILED,
        r"protocol[ _]version|unsupported[ _]protocol|handshake[ _]fail|no shared cipher|no supported|dh key too small",
        "The server and Larder have no version or cipher of TLS in common.",
        "Have the server's administrator enable TLS 1.2 or 1.3 with current ciphers.",
    ),
    (
        TLS_FAILED,
        r"",
        "The server ended the TLS connection.",
        "Ask the server's administrator to check its log. Check that the URL has the right host name and port.",
    ),
)


def explained(words: str) -> GitFailed:
    """Return what such words mean; they are shown as they are, so the caller takes secrets out."""
    code, _, text, hint = next(fault for fault in _FAULTS if re.search(fault[1], words, re.IGNORECASE))
    return GitFailed(code, f"{text} ({words.rstrip('.')})", hint=hint)
