"""Mail to people: who gets a letter, sending, expiries, and what a person wants."""
