"""Ready answers, before Django: the table, the question that it knows, the lease under which it holds (D16)."""
