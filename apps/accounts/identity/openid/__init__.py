"""Sign-on with OpenID Connect: allauth's flow, with the checks and limits that it lacks.

Settings describe the providers (apps/lib/openid.py). `people/sign_on.py` decides which account a person gets.
"""
