"""Sign-on by SAML 2.0. Only `protocol.py` imports the libraries for XML, which are an optional extra."""
