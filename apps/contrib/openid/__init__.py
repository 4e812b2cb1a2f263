"""Sign-on by OpenID Connect. `protocol.py` stands on allauth, and is loaded with the first sign-on."""
