"""SPDX identifiers of licence texts, by the sentences that each of the common ones begins with."""

import re

MAX_CHARACTERS = 64 * 1024
# The title or grant stands there; further down a text may mention another licence.
HEAD = 2_500
_TAG = re.compile(r"spdx-license-identifier:\s*([a-z0-9][a-z0-9.+-]*(?: (?:and|or|with) [a-z0-9][a-z0-9.+-]*)*)")
# In this order: a text of the LGPL names the GPL.
_TITLES = (
    ("Apache-2.0", "apache license version 2.0, january 2004"),
    ("Apache-2.0", "licensed under the apache license, version 2.0"),
    ("MPL-2.0", "mozilla public license version 2.0"),
    ("MPL-2.0", "mozilla public license, version 2.0"),
    ("BUSL-1.1", "business source license 1.1"),
    ("AGPL-3.0", "gnu affero general public license version 3"),
    ("LGPL-3.0", "gnu lesser general public license version 3"),
    ("LGPL-2.1", "gnu lesser general public license version 2.1"),
    ("GPL-3.0", "gnu general public license version 3"),
    ("GPL-2.0", "gnu general public license version 2"),
    ("EPL-2.0", "eclipse public license - v 2.0"),
    ("EUPL-1.2", "european union public licence v. 1.2"),
    ("CC0-1.0", "cc0 1.0 universal"),
    ("CC-BY-4.0", "creative commons attribution 4.0 international"),
    ("Unlicense", "this is free and unencumbered software released into the public domain"),
)
_MIT = "permission is hereby granted, free of charge, to any person obtaining a copy of this software"
_BSD = "redistribution and use in source and binary forms, with or without modification"
_ISC = "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"


def spdx_of(text: str) -> str:
    """The identifier, as `MIT` or `Apache-2.0`; empty if the text is none of the common ones."""
    words = " ".join(text[:MAX_CHARACTERS].lower().split())
    head = words[:HEAD]
    if tag := _TAG.search(head):
        found = re.search(re.escape(tag[1]), " ".join(text[:MAX_CHARACTERS].split()), re.IGNORECASE)
        return found[0] if found else ""
    for name, title in _TITLES:
        if title in head:
            return name
    if _MIT in head:
        return "MIT" if "the above copyright notice and this permission notice" in words else "MIT-0"
    if _BSD in head:
        return "BSD-3-Clause" if "neither the name of" in words else "BSD-2-Clause"
    if _ISC in head:
        return "ISC" if "provided that the above copyright notice" in words else "0BSD"
    return ""
