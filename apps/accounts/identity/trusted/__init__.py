"""Trusted publishers (D27): CI publishes with the id token of a run in place of a stored secret.

`vendors.py` has one declaration for each vendor, as data; `declarations.py` says what a declaration may contain.
`publishers.py` has the rules that owners make, `matching.py` says whether claims keep one. `exchange.py` makes an API
token of an id token that `reading.py` and `verifying.py` have checked, with keys from `keys.py`.
"""
