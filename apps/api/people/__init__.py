"""People, machines and what they may: teams, roles in namespaces, tokens."""
