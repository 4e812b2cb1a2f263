"""How well a version of a module is described and pinned: ten points, each with its rule. Nothing of it is a gate."""
