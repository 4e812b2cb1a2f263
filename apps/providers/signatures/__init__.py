"""Signatures of provider versions, including later ones."""
