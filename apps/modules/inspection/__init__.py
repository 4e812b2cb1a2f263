"""Read the declarations of a module from its HCL, without running any of it (D17).

    from apps.modules.inspection.inspecting import inspect
    document = inspect(texts, sizes)      # {"units": [unit, ...], "faults": {path: [warning]}}

A unit is one folder's own module files; a submodule is one below `modules/`, or what `units.folders_of` takes for it:

    {"path": "" | "modules/subnets" | "examples/complete", "name": "subnets",
     "kind": "root" | "submodule" | "example" | "other",
     "readme": "", "summary": "",                       # `apps.modules.contents.extraction` fills them in
     "required_version": [{"text", "file", "line"}],
     "variables": [{"name", "type", "default", "required", "description", "sensitive", "nullable", "ephemeral", "const",
                    "deprecated", "validations": [message], "value", "file", "line"}],
     "outputs": [{"name", "type", "description", "sensitive", "ephemeral", "deprecated", "file", "line"}],
     "resources": [{"mode": "managed" | "data" | "ephemeral", "type", "name", "provider",
                    "repetition": "" | "count" | "for_each", "file", "line"}],
     "providers": [{"name", "source", "version", "aliases": ["aws.replica"], "file", "line"}],
     "calls": [{"name", "source", "version", "computed": ["source" | "version"], "repetition", "file", "line"}],
     "warnings": [{"file", "line", "column", "message"}],
     # Each of these is absent if it is empty:
     "requires": [{"text": "Terraform 1.14", "why", "file", "line"}],                # not all supported clients load it
     "plan_errors": [{"file", "line", "message", "hint"}],                           # clients load it, and plan fails
     "compatible_with": [{"client": "opentofu", "text", "file", "line"}],
     "moved": [{"from", "to", "file", "line"}],
     "removed": [{"from", "destroy": true | false | null, "file", "line"}],
     "imports": [{"to", "file", "line"}],
     "actions": [{"type", "name", "provider", "file", "line"}],
     "queries": [{"type", "name", "provider", "file", "line"}],                      # of .tfquery files
     "migrations": [{"kind": "backend" | "state_store", "type", "file", "line"}]}    # of .tfmigrate files

`for_each` beside a repetition has the `text` of the expression, which may be cut, and a `digest` of its tokens: those
of two versions are equal unless more than blanks and comments have changed.

`destroy` is null if the block leaves it out: then Terraform destroys and OpenTofu forgets. A `computed` source or
version is an expression, as written but without its quotes. Older inspectors wrote no `const`, `repetition` or
`computed`, and no `type` of outputs: a reader must take an absent key for "unknown".

Types and defaults are the author's own text without its indentation. `default` is null if there is none,
"(unknown)" if it is uncertain, "(sensitive)" if the variable is sensitive: such a default is nowhere in the
document. `value` is the default as JSON; the key is absent unless the default is a literal that is shown.

`apps.modules.contents.extraction` adds `file_count`: the number of files in the archive, of which it may store fewer;
`changelog`: the HTML of what CHANGELOG.md says of the version; and `licence`: its SPDX identifier, "" if it is unknown.

The child process imports this package, so nothing in it imports Django.
"""

from apps.lib.archives.layouts import COMMAND_SUFFIXES, MODULE_SUFFIXES

# Increase it with the rules: `manage.py reinspect` reads what an older one has read again.
INSPECTOR = "13"

README_NAMES = ("readme.md", "readme.markdown", "readme")
# The members of an archive whose texts are wanted, as `archives.inspect` takes them. READMEs of the root are not here:
# `apps.modules.checking` names them.
_SHOWN_FIRST = ("modules/*/", "examples/*/")
WANTED = (
    *(f"{folder}*{suffix}" for folder in ("", *_SHOWN_FIRST) for suffix in MODULE_SUFFIXES),
    *(f"{folder}{name}" for folder in _SHOWN_FIRST for name in README_NAMES),
    *(f"**/*{suffix}" for suffix in (*MODULE_SUFFIXES, *COMMAND_SUFFIXES)),
    *(f"**/{name}" for name in README_NAMES),
)
