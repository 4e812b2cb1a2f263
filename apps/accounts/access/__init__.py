"""Who may do what: the gate, its permissions, and what ends access."""
