"""The dependency graph: who uses a module or provider and what it uses, at any distance."""
