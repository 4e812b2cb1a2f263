"""SPDX identifiers of licence texts. The texts are their beginnings, as their authors wrap them."""

from apps.lib.formats.licences import HEAD, spdx_of
from tests.rows import for_each_row

MIT = """The MIT License (MIT)

Copyright (c) 2026 Acme

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction
"""
NOTICE = "\nThe above copyright notice and this permission notice shall be included in all\ncopies"
APACHE = "                                 Apache License\n                           Version 2.0, January 2004\n"
BSD = (
    "Copyright 2026\n\nRedistribution and use in source and binary forms, with or without\nmodification, are permitted"
)
ISC = "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee"


@for_each_row(
    ("text", "name"),
    [
        (MIT + NOTICE, "MIT"),
        (MIT, "MIT-0"),
        (APACHE, "Apache-2.0"),
        ("Mozilla Public License Version 2.0\n==================================\n", "MPL-2.0"),
        ("Copyright (c) 2019 Acme\n\nMozilla Public License, version 2.0\n", "MPL-2.0"),
        ("                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007", "GPL-3.0"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991", "GPL-2.0"),
        (
            "GNU LESSER GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007 ... the GNU General Public License version 3",
            "LGPL-3.0",
        ),
        ("GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3, 19 November 2007", "AGPL-3.0"),
        ("License text copyright\n\nBusiness Source License 1.1\n\nParameters", "BUSL-1.1"),
        (BSD, "BSD-2-Clause"),
        (f"{BSD}\n* Neither the name of Acme", "BSD-3-Clause"),
        (ISC, "0BSD"),
        (f"{ISC} is hereby granted, provided that the above\ncopyright notice", "ISC"),
        ("This is free and unencumbered software released into the public domain.", "Unlicense"),
        ("// SPDX-License-Identifier: Apache-2.0 OR MIT\n", "Apache-2.0 OR MIT"),
        ("All rights reserved. Ask the platform team.", ""),
        ("", ""),
        (f"Proprietary. {'x ' * HEAD} Parts are under the {APACHE}", ""),
    ],
)
def test_a_common_licence_has_its_identifier_and_nothing_else_has_one(text, name):
    assert spdx_of(text) == name
