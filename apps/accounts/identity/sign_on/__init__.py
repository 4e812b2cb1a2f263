"""Sign-on at identity providers: allauth's flows, with the checks and limits that they lack.

Settings describe the providers (lib/settings_values), and rooms speak their protocols.
`people/sign_on.py` says which account a person gets.
"""
