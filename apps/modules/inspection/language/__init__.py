"""The rules by which clients load a module, and the judge that applies them to a file (D17).

    clients     the releases whose rules these are, and sets of them
    schema      the table: blocks, arguments and their rules, each with its source
    bodies      what the judge sees of both syntaxes; `native_bodies` and `json_bodies` provide it
    judge       the walk through the table
    rules       one function for each kind of argument
    types       type expressions, and values that do not fit them
    addresses   names, provider and module addresses, version constraints
    grammar     what tree-sitter tolerates and clients refuse

A false alarm costs every publisher's trust, a miss costs one publisher a version: a rule that is not sure is silent.
"""
