"""The claims of CI runs (D27): what each vendor's mean, and where the releases that a run published come from.

`vendors.py` has one declaration for each vendor, as data; `declarations.py` says what a declaration may contain. The
room of trusted publishers compares claims with the rules of owners, and exchanges id tokens.
"""
