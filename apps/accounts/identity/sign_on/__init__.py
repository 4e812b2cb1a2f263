"""Sign-on with OpenID Connect and SAML 2.0: allauth's flows, with the checks and limits that they lack.

Settings describe the providers (lib/settings_values). `people/sign_on.py` says which account a person gets.
"""
