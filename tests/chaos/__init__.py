"""Faults of the whole stack under load, and one check after each that nothing acknowledged was lost."""
