"""Larder's signed statements about releases, and the attestations that publishers attach to them."""
