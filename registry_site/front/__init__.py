"""Ready answers, before Django: what was asked and answered, the changes that end it, and archives (D6, D16)."""
