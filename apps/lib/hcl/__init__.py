"""HCL: the syntax tree of a text, the literals, expressions and blocks in it, and what HCL refuses though the grammar
takes it. Nothing is evaluated.
"""
