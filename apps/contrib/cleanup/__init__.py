"""Rules that deprecate or yank old versions of a namespace: what they choose, who sets them, when they act."""
