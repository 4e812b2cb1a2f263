"""Archives whose calls give values to inputs that clients need when they load a module.

What OpenTofu says was recorded with `init` of 1.12.6. What Terraform says of `const`, since 1.15, is from its sources.
"""

from tests.modules.inspection.language.archives import both, call

CONST = 'variable "x" {\n  const = true\n}\n'
DEFAULT = 'variable "x" {\n  const   = true\n  default = "b"\n}\n'
FALSE = 'variable "x" {\n  const = false\n}\n'
PLAIN = 'variable "x" {}\n'
IN_SOURCE = call("../${var.x}", "b")
IN_LOCAL = call("../${local.x}", "b") + "locals {\n  x = var.x\n}\n"
IN_VERSION = 'module "b" {\n  source  = "a/b/c"\n  version = var.x\n}\n'
IN_PROVIDER = 'provider "terraform" {\n  alias    = "x"\n  for_each = toset([var.x])\n}\n'
RESOURCE = 'resource "terraform_data" "r" {}\n'
DATA = 'data "terraform_remote_state" "d" {\n  backend = "local"\n}\n'
PASSED = call("../b", x="var.x")
LOADS = 'output "x" {\n  value = "x"\n}\n'


def local(value):
    return f"locals {{\n  y = {value}\n}}\n"


def given(value, root=RESOURCE, **arguments):
    return root + call(x=value, **arguments)


# What is said of it, and the archive: OpenTofu and Terraform 1.15 refuse it, and others do not know `const`.
REFUSED = {
    "a resource for a const input": ("x refers to terraform_data.r,", both(given("terraform_data.r.id"), CONST)),
    "a resource in a text": ("x refers to terraform_data.r,", both(given('"a${terraform_data.r.id}"'), CONST)),
    "a resource behind local values": (
        "x refers to terraform_data.r,",
        both(given("local.z", RESOURCE + local("terraform_data.r.id") + 'locals {\n  z = "${local.y}"\n}\n'), CONST),
    ),
    "a data source": (
        "x refers to data.terraform_remote_state.d,",
        both(given("data.terraform_remote_state.d.outputs", DATA), CONST),
    ),
    "an output": (
        "x refers to module.c,",
        both(given("module.c.x", call("./c", "c")), CONST, c=LOADS),
    ),
    "each": ("x refers to each.key,", both(given("each.key", for_each="{}"), CONST)),
    "count": ("x refers to count.index,", both(given("count.index", count=0), CONST)),
    "a resource for an input with a default": ("x refers to", both(given("terraform_data.r.id"), DEFAULT)),
    "a const input that is not set": ("./a needs the input x on loading", both(call(), CONST)),
    "a resource for a source": ("x refers to", both(given("terraform_data.r.id"), PLAIN + IN_SOURCE)),
    "a resource for a source in a branch that is not taken": (
        "x refers to",
        both(given('true ? "b" : terraform_data.r.id'), PLAIN + IN_SOURCE),
    ),
    "a resource for a source behind a local value": (
        "x refers to",
        both(given("terraform_data.r.id"), PLAIN + IN_LOCAL),
    ),
    "a resource for a version": ("x refers to", both(given("terraform_data.r.id"), PLAIN + IN_VERSION)),
    "a resource for instances of a provider": ("x refers to", both(given("terraform_data.r.id"), PLAIN + IN_PROVIDER)),
    "a resource that is passed on": ("x refers to", both(given("terraform_data.r.id"), PLAIN + PASSED, b=CONST)),
    "a resource that is passed on twice": (
        "x refers to",
        both(given("terraform_data.r.id"), PLAIN + PASSED, b=PLAIN + call("../c", x='"${var.x}"'), c=CONST),
    ),
    "an input of a source that is not set": ("./a needs the input x on loading", both(call(), PLAIN + IN_SOURCE)),
    "an input that is passed on and not set": (
        "./a needs the input x on loading",
        both(call(), PLAIN + PASSED, b=CONST),
    ),
    "an input without const for a source": ("source refers to var.x,", both(call(x='"b"'), FALSE + IN_SOURCE)),
    "an input without const for a const one": ("x refers to var.x,", both(call(x='"b"'), FALSE + PASSED, b=CONST)),
    "a source from a resource behind a local value": (
        "source refers to terraform_data.r,",
        {"main.tf": RESOURCE + local("terraform_data.r.id") + call("./${local.y}")},
    ),
    "a resource in JSON": (
        "x refers to terraform_data.r,",
        {
            "main.tf.json": '{"module": {"a": {"source": "./a", "x": "${terraform_data.r.id}"}},'
            ' "resource": {"terraform_data": {"r": {}}}}',
            "a/main.tf": CONST,
        },
    ),
}

# Who loads the root.
ONLY_TERRAFORM = {
    "a resource that does not decide the value": both(given("[terraform_data.r.id, 1][1]"), CONST),
    "a resource in a branch that is not taken": both(given('true ? "b" : terraform_data.r.id'), CONST),
    "a text of JSON that another call has too": {
        "main.tf.json": '{"module": {"c": {"source": "./c", "x": "${upper(terraform_data.r.id)}"},'
        ' "a": {"source": "./a", "x": "${upper(terraform_data.r.id)}"}}, "resource": {"terraform_data": {"r": {}}}}',
        "a/main.tf": CONST,
        "c/main.tf": PLAIN,
    },
    "a resource in a local value of which another part is used": both(
        given("local.y.b", RESOURCE + local('{ a = terraform_data.r.id, b = "b" }')), CONST
    ),
}
ONLY_OPENTOFU = {
    "the workspace": both(given("terraform.workspace"), CONST),
    "a variable": both(given("var.y", 'variable "y" {\n  default = "b"\n}\n'), CONST),
    "a variable behind a local value": both(
        given("local.y", 'variable "z" {\n  default = "b"\n}\n' + local("var.z")), CONST
    ),
    "a source": both(given('"b"'), PLAIN + IN_SOURCE, b=LOADS),
    "the workspace for a source": both(given('terraform.workspace == "" ? "c" : "b"'), PLAIN + IN_SOURCE, b=LOADS),
    "instances of a provider": both(given('"b"'), PLAIN + IN_PROVIDER),
    "a value that is passed on": both(given('"b"'), PLAIN + PASSED, b=CONST),
}
EVERYWHERE_WITH_CONST = {
    "a literal": both(given('"b"'), CONST),
    "local values of literals": both(given("local.y", local('upper("b")')), CONST),
    "a path": both(given("path.module"), CONST),
    "a const input that is passed on": both(given('"b"'), CONST + PASSED, b=CONST),
    "a default": both(call(), DEFAULT),
    "a source from a const input": both(given('"b"'), CONST + IN_SOURCE, b=LOADS),
    "a loop whose element has the name of a resource": both(given('[for aws_a in [{ b = "b" }] : aws_a.b]'), CONST),
    "another input than the const one": both(given('"b"', y="terraform_data.r.id"), CONST + 'variable "y" {}\n'),
    "a resource for an input that is not const": both(given("terraform_data.r.id"), PLAIN + call("../b"), b=DEFAULT),
}
EVERYWHERE = {
    "a resource for an ordinary input": both(
        given("terraform_data.r.id"), PLAIN + 'output "x" {\n  value = var.x\n}\n'
    ),
}
