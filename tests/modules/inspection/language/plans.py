"""Folders that clients load, and whether they can plan them: what is wrong, and how to fix it."""

from tests.modules.inspection.language.archives import both, call

DECLARED = 'variable "region" {\n  default = "x"\n}\nlocals {\n  name = "x"\n}\nresource "terraform_data" "web" {}\n'
INPUTS = 'variable "cidr" {}\nvariable "tags" {\n  default = {}\n}\noutput "id" {\n  value = var.cidr\n}\n'
LIST = 'variable "list" {\n  default = []\n}\n'
CONDITION = """variable "x" {
  default = 1
  validation {
    condition     = var.x == var.zone
    error_message = "No."
  }
}
"""
DEPENDENT = 'resource "terraform_data" "a" {{\n  input = 1\n  {}\n}}\n'
MAPPED = "for_each = { a = 1 }"
REPEATED = f'resource "terraform_data" "b" {{\n  {MAPPED}\n}}\n'
CHECKED = """resource "terraform_data" "a" {{
  input = 1

  lifecycle {{
    {} {{
      condition     = {} != ""
      error_message = "No."
    }}
  }}
}}
"""
IMPORTED = """import {{
  to = terraform_data.a
  id = each.value
  {}
}}
resource "terraform_data" "a" {{}}
"""
CONTENT = """resource "a_b" "c" {
  dynamic "rule" {
    for_each = []
    content {
      a = lenght(1)
    }
  }
}
"""
PROVISIONED = """resource "terraform_data" "a" {{
  provisioner "local-exec" {{
    command = "true ${{{0}}}"
    connection {{
      host = {0}
    }}
  }}
  connection {{
    host = {0}
  }}
  lifecycle {{
    postcondition {{
      condition     = {0} != ""
      error_message = "No ${{{0}}}."
    }}
  }}
}}
"""


def output(expression):
    return f'output "x" {{\n  value = {expression}\n}}\n'


def of_data(value, *lines):
    """The value is in the line behind these."""
    inside = "".join(f"  {line}\n" for line in (*lines, f"input = {value}"))
    return f'# the resource\nresource "terraform_data" "a" {{\n{inside}}}\n'


def called(value, **arguments):
    return both(call(**({"cidr": '"10.0.0.0/8"'} | arguments)) + output(value), INPUTS)


# The file's line, what is said, and how to fix it.
WRONG = {
    "a variable": (9, "var.regoin, which is not declared", "Write var.region", DECLARED + output("var.regoin")),
    "a variable that resembles none": (2, "var.a, which", 'Declare it: variable "a"', output("var.a")),
    "a variable in a template": (9, "var.zone", "Declare it", DECLARED + output('"a-${var.zone}-b"')),
    "a variable in a heredoc": (3, "var.zone", "Declare it", output("<<-EOT\n    ${var.zone}\n  EOT")),
    "a variable in a directive": (2, "var.zone", "Declare", output('"%{ if var.zone }a%{ else }b%{ endif }"')),
    "a variable in try": (2, "var.zone", "Declare it", output("try(var.zone, 1)")),
    "a variable that a loop goes through": (2, "var.list", "Declare it", output("[for x in var.list : x]")),
    "a variable of the name of a loop": (2, "var.x", "Declare it", output("[for x in [1] : x + var.x]")),
    "a variable in a key": (2, "var.key", "Declare it", output("{ (var.key) = 1 }")),
    "a variable in a condition": (
        *(4, "var.zone", "Declare it"),
        CONDITION,
    ),
    "a name without quotes": (2, "found eu, which is neither", 'Write "eu", or a reference', output("[eu]")),
    "a variable without var": (9, "found region, which is", "Write var.region.", DECLARED + output('"${region}"')),
    "a local value": (9, "local.nmae, which", "Write local.name", DECLARED + output("local.nmae")),
    "a resource": (9, "terraform_data.wbe", "Write terraform_data.web", DECLARED + output("terraform_data.wbe.id")),
    "a resource of another type": (9, "a_b.c", 'resource "a_b" "c"', DECLARED + output("a_b.c.id")),
    "a data source": (2, "data.a_b.c", 'data "a_b" "c"', output("data.a_b.c.id")),
    "the name of a loop beyond it": (2, "x.y, which", "Declare it", output("[[for x in [1] : x], x.y]")),
    "a loop's name in its collection": (2, "x.y, which", "Declare it", output("[for x in x.y : x]")),
    "a module": (6, "module.b, which", 'module "b"', both(call(cidr=1) + output("module.b.id"), INPUTS)),
    "a function": (2, "the function lenght", "Write length.", output("lenght([])")),
    "a function in a template": (2, "the function nothing", "provider::name", output('"${nothing(1)}"')),
    "a local value that is itself": (2, "refers to itself", "Compute", "locals {\n  a = [local.a]\n}\n"),
    "a circle of local values": (
        *(2, "local.a → local.b → local.c → local.a", "Compute one of them"),
        'locals {\n  a = local.b\n  b = "${local.c}"\n  c = [for x in [1] : local.a]\n}\n',
    ),
    "an input that is not set": (1, "requires the input cidr", "Set cidr", both(call(), INPUTS)),
    "an input that there is not": (1, "no input cird", "Write cidr", both(call(cidr=1, cird=1), INPUTS)),
    "an output that there is not": (6, "module.a.ids", "Write id.", called("module.a.ids")),
    "an output of one of several": (7, "module.a.ids", "Write id.", called("module.a[0].ids", count=1)),
    "an output of each": (7, "module.a.ids", "Write id.", called('module.a["x"].ids', for_each="{ x = 1 }")),
    "a dependency": (
        3,
        "terraform_data.db, which",
        "Write terraform_data.a, or declare it",
        DEPENDENT.format("depends_on = [terraform_data.db]"),
    ),
    "a trigger": (
        *(3, "terraform_data.db, which", "Write terraform_data.a, or declare it"),
        DEPENDENT.format("lifecycle { replace_triggered_by = [terraform_data.db] }"),
    ),
    "each without for_each": (3, 'data" "a": found each.key, which exists only', "Set for_each", of_data("each.key")),
    "each beside count": (4, "found each.value, which", "Set for_each", of_data("each.value", "count = 1")),
    "each in a branch and in try": (3, "found each.key", "Set", of_data("try(true ? 1 : each.key, 1)")),
    "each in for_each": (3, "each.key, which", "Set for_each", of_data("1", "for_each = toset([each.key])")),
    "another attribute of each": (4, "found each.vlaue, expected", "Write each.value.", of_data("each.vlaue", MAPPED)),
    "count without count": (3, "found count.index, which", "Set count", of_data("count.index")),
    "count beside for_each": (4, "found count.index, which", "Set count", of_data("count.index", MAPPED)),
    "count in count": (3, "found count.index", "Set count", of_data("1", "count = count.index")),
    "another attribute of count": (4, "found count.idx", "Write count.index", of_data("count.idx", "count = 1")),
    "each in a trigger": (
        *(3, "found each.key, which", "Set for_each"),
        DEPENDENT.format("lifecycle { replace_triggered_by = [terraform_data.b[each.key]] }") + REPEATED,
    ),
    "each in a condition": (6, "found each.key, which", "Set", CHECKED.format("precondition", "each.key")),
    "each in a local value": (2, "locals: found each.key", "Set for_each", "locals {\n  x = each.key\n}\n"),
    "each in an output": (2, 'output "x": found each.value', "Set for_each", output("each.value.name")),
    "count in an output": (2, 'output "x": found count.index', "Set count", output('"${count.index}"')),
    "each in the condition of a variable": (4, "found each.key", "Set", CONDITION.replace("var.zone", "each.key")),
    "each in a call": (3, 'module "a": found each.key, which', "Set for_each", both(call(cidr="each.key"), INPUTS)),
    "count in a call": (3, 'module "a": found count.index', "Set count", both(call(cidr="count.index"), INPUTS)),
    "another attribute of each in a call": (
        *(3, "found each.name", "Write each.key or each.value."),
        both(call(cidr="each.name", for_each="{ a = 1 }"), INPUTS),
    ),
    "self in a resource": (3, 'data" "a": found self.id', "Write the address", of_data("self.id")),
    "self in a precondition": (6, "found self.id, which", "address", CHECKED.format("precondition", "self.id")),
    "self in an output": (2, "found self.id, which", "Write the address", output("self.id")),
    "self in a call": (3, "found self.id, which", "Write the address", both(call(cidr="self.id"), INPUTS)),
    "each in an import": (3, "import: found each.value", "Set for_each", IMPORTED.format("")),
    "an output of all": (7, "module.a.ids", "Write id.", called("module.a[*].ids", count=1)),
}

FINE = {
    "names that are declared": DECLARED + output("[var.region, local.name, terraform_data.web.id]"),
    "loops": LIST + output('{ for k, v in var.list : k => { (k) = v.name, v = "${v.id}" } if v.name != k.id }'),
    "loops in a template": LIST + output('"%{ for k, v in var.list }${v.name}${k.id}%{ endfor }"'),
    "a loop in a loop": LIST + output("[for a in var.list : [for b in a.items : [a.id, b.id]]]"),
    "a loop over the name of another": LIST + output("[for a in var.list : [for a in a.items : a.id]]"),
    "keys of objects": output("{ a = 1, b : 2, each = 3 }"),
    "what try may not find": both(call(cidr=1) + output("[try(module.a.ids, 1), can(module.a.ids)]"), INPUTS),
    "a function that try may not find": output("try(lenght([]), 1)"),
    "branches": output("[true ? 1 : lenght(1), false ? lenght(1) : 1]"),
    "branches of a template": output('"%{ if false }${lenght(1)}%{ endif }"'),
    "loops over nothing": output("[[for x in [] : lenght(x)], { for x in [] : lenght(x) => x }]"),
    "an output in a branch": called("true ? 1 : module.a.ids"),
    "text that resembles a reference": output('"var.zone $${var.zone} lenght(1)"'),
    "a comment": "# var.zone\n" + output("1 /* ${var.zone} */"),
    "what conditions refer to": (
        'resource "terraform_data" "x" {\n  lifecycle {\n    ignore_changes = [input]\n    postcondition {\n'
        '      condition     = self.id != path.module\n      error_message = "No."\n    }\n  }\n}\n'
    ),
    "repeated": 'resource "terraform_data" "x" {\n  for_each = { a = 1 }\n  input    = "${each.key}${each.value}"\n}\n',
    "each and count where they are set": (
        of_data("[each.key, each.value.x, each.value]", "for_each = { a = { x = 1 } }")
        + 'resource "terraform_data" "b" {\n  count = 2\n  input = count.index\n}\n'
    ),
    "each in conditions": CHECKED.format("precondition", "each.key").replace("input = 1", MAPPED),
    "count in a trigger": (
        DEPENDENT.format("count = 1\n  lifecycle { replace_triggered_by = [terraform_data.b[count.index]] }")
        + 'resource "terraform_data" "b" {\n  count = 1\n}\n'
    ),
    "self of a resource": PROVISIONED.format("self.id"),
    "each of a call": called("module.a", cidr="each.value", for_each='{ a = "x" }'),
    "what a call without instances does not evaluate": called("module.a", cidr="each.key", count=0),
    "loops and keys that are called each": output("[[for each in [{ x = 1 }] : each.x], { count = 1, self = 2 }]"),
    "types": 'variable "x" {\n  type    = object({ a = optional(map(string), {}) })\n  default = {}\n}\n',
    "all inputs": called("module.a.id", tags="{}"),
    "JSON": {
        "main.tf.json": '{"variable": {"a": {"default": 1}}, "locals": {"b": {"c": ["${var.a}"]}},'
        '"output": {"x": {"//": "${var.no}", "value": "var.zone"}}}'
    },
}
JSON = {
    "a variable": ("var.zone", '{"output": {"x": {"value": {"a": ["a${var.zone}"]}}}}'),
    "a function": ("lenght", '{"locals": {"x": "${lenght(1)}"}}'),
    "a local value that is itself": ("refers to itself", '{"locals": {"x": "${local.x}"}}'),
    "a resource": ("a_b.c", '{"output": {"x": {"value": "${a_b.c.id}"}}}'),
    "each": ("found each.key", '{"resource": {"a_b": {"c": {"name": "${each.key}"}}}}'),
    "each in one of two that say the same": (
        *('resource "a_b" "d": found each.key',),
        (
            '{"resource": {"a_b": {"c": {"for_each": {"x": 1}, "name": "${upper(each.key)}"}, "d": {"name": '
            '"${upper(each.key)}"}}}}'
        ),
    ),
    "a local value in one of two that say the same": (
        "local.b: it refers to itself",
        '{"locals": {"a": "${upper(local.b)}", "b": "${upper(local.b)}"}}',
    ),
    "a reference behind an escaped one": ("var.zone", '{"output": {"x": {"value": "$${var.no}${var.zone}}"}}}'),
    "a reference with keys": ("var.zone", '{"output": {"x": {"value": "${ var.zone[0].a[\\"b\\"].c }"}}}'),
    "self": ("found self.id", '{"output": {"x": {"value": "${self.id}"}}}'),
    "an input": ("requires the input cidr", '{"module": {"a": {"source": "./a"}}}'),
}
# No client is asked: providers are not installed, or the clients differ.
OF_PROVIDERS = {
    "dynamic blocks": (
        'resource "a_b" "c" {\n  dynamic "rule" {\n    for_each = [1]\n    iterator = it\n    content {\n'
        '      a = it.value\n      dynamic "inner" {\n        for_each = it.value.x\n        content {\n'
        "          a = [inner.key, it.key, rule.value]\n        }\n      }\n    }\n  }\n}\n"
    ),
    "providers": (
        'resource "a_b" "c" {\n  provider   = aws.replica\n  depends_on = [a_b.d]\n}\nresource "a_b" "d" {}\n'
        'module "x" {\n  source    = "acme/x/aws"\n  providers = { aws = aws.replica }\n}\n'
    ),
    "a key of a repeated module": called("module.a.eu.id", for_each='{ eu = "x" }'),
    "what only Terraform evaluates": output("[false && lenght(1), true || lenght(1)]"),
    "what a dynamic block may not contain": CONTENT,
    "functions of providers": output("provider::acme::f(core::length([]))"),
    "dynamic blocks in JSON": {
        "main.tf.json": '{"resource": {"a_b": {"c": {"dynamic": {"rule": {"for_each": [1], "content": {"a": '
        '"${rule}${rule.value}"}}}}}}}'
    },
    "a template that is not finished": {"main.tf.json": '{"resource": {"a_b": {"c": {"x": "${f(1)} ${var.no"}}}}'},
    "an ephemeral resource": 'ephemeral "a_b" "c" {}\nprovider "a" {\n  token = ephemeral.a_b.c.token\n}\n',
    "a block that is repeated as each": (
        'resource "a_b" "c" {\n  dynamic "rule" {\n    for_each = [1]\n    iterator = each\n    content {\n'
        "      a = each.value.x\n    }\n  }\n}\n"
    ),
    "a block that is repeated as each, in JSON": {
        "main.tf.json": '{"resource": {"a_b": {"c": {"dynamic": {"each": {"for_each": [1], "content": {"a": '
        '"${each.value}"}}}}}}}'
    },
    "imports": IMPORTED.format('for_each = { a = "x" }'),
    "what calls an action": ('action "a_b" "c" {\n  count = 1\n  config {\n    a = [caller.id, count.index]\n  }\n}\n'),
    "instances of providers": ('provider "a" {\n  alias    = "x"\n  for_each = { b = 1 }\n  region   = each.key\n}\n'),
    "a check": (
        'check "x" {\n  data "a_b" "c" {}\n  assert {\n    condition = data.a_b.c.id == ""\n'
        '    error_message = "No."\n  }\n}\n'
    ),
}
