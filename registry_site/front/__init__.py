"""Ready answers, before Django: what was asked and answered, the lease under which it holds, and archives (D6, D16)."""
