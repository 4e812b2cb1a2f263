"""Sign-on with SAML 2.0: allauth's provider and python3-saml, with the checks that they leave to others.

Only what is configured loads the library. `people/sign_on.py` decides which account a person gets.
"""
