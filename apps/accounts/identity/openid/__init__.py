"""Sign-on with OpenID Connect: allauth's flow, with the checks and limits that it lacks.

Settings describe the providers (lib/settings_values/openid.py). `people/sign_on.py` says which account a person gets.
"""
