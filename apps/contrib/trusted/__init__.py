"""Trusted publishers (D27): CI publishes with the id token of a run in place of a stored secret.

`publishers.py` has the rules that owners make, `matching.py` says whether claims keep one. `exchange.py` makes an API
token of an id token that `reading.py` and `verifying.py` have checked, with keys from `keys.py`. What a vendor's claims
mean is said in the core (`accounts/identity/trusted`), which shows where releases come from.
"""
