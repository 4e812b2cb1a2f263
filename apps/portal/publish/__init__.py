"""Publish in the browser: forms, uploads, and the page of a release."""
