"""The rules by which clients load a module, and the judge that applies them to a file (D17).

    clients     the releases whose rules these are, and sets of them
    schema      the table: blocks, arguments and their rules, each with its source; `settings` has those of `terraform`
                and `language` blocks, `table` the shape of an entry
    json_bodies blocks and expressions of the JSON syntax; `lib/hcl` has the native ones
    judge       the walk through the table
    rules       one function for each kind of argument, and for what holds for a whole block
    overrides   what holds after override files were merged, and what must be declared
    evaluation  what clients evaluate when they plan, and where each, count and self exist
    uses        what the expressions of a file use; `functions` has the functions of all clients
    plan_errors what loads and can never be planned, of one folder
    calls       what a folder says about others: its calls, and the providers that it configures
    references  what a reference, or an address in a block about the state, names
    types       type expressions, and values that do not fit them
    sources     source addresses of modules
    addresses   names, addresses of providers, version constraints

Rules for one folder are complete here. What several folders of an archive say together is judged by `archive`,
`passing` and `early_values` of the package above, from the `interfaces` of the folders; a unit's `refusing` says who
loads it alone.

A false alarm costs every publisher's trust, a miss costs one publisher a version: a rule that is not sure is silent.
"""
