"""Archives of several folders, and whether clients load the first of them: what `get` and `providers` say of each.

Recorded with OpenTofu 1.12.6 and Terraform 1.11.4; the sources of later releases say the same.
"""

ALIASES = """terraform {
  required_providers {
    aws = {
      source                = "hashicorp/aws"
      configuration_aliases = [aws.replica]
    }
  }
}
"""
CONFIGURED = 'provider "aws" {\n  region = "eu-west-1"\n}\n'
EMPTY = 'provider "aws" {\n}\n'
REPLICA = 'provider "aws" {\n  alias  = "replica"\n  region = "eu-west-1"\n}\n'
ACME = 'terraform {\n  required_providers {\n    dns = {\n      source = "acme/dns"\n    }\n  }\n}\n'
DNS = ACME.replace("acme/dns", "hashicorp/dns")
NOTHING = "locals {\n  a = 1\n}\n"


def call(source="./a", name="a", **arguments):
    lines = [f'source = "{source}"', *(f"{key} = {value}" for key, value in arguments.items())]
    return f'module "{name}" {{\n' + "".join(f"  {line}\n" for line in lines) + "}\n"


def both(root, a, **more):
    return {"main.tf": root, "a/main.tf": a, **{f"{name}/main.tf": text for name, text in more.items()}}


# What is said of the call, and the archive.
REFUSED = {
    "a module that calls itself": ("calls its own folder", {"main.tf": call("./")}),
    "a module that calls itself in JSON": (
        "calls its own folder",
        {"main.tf.json": '{"module": {"a": {"source": "./"}}}'},
    ),
    "a submodule that calls the root": ("circle", both(call(), call("../"))),
    "a submodule that calls the root by its name": ("circle", both(call(), call("../a/.."))),
    "two that call each other": ("circle", both(call(), call("../b"), b=call("../a"))),
    "a circle of three": ("circle", both(call(), call("../b"), b=call("../c"), c=call("../a"))),
    "a circle behind a count": ("circle", both(call(count=0), call("../"))),
    "an alias that is not passed": ("needs the provider configuration aws.replica", both(call(), ALIASES)),
    "another alias that is passed": (
        "needs the provider configuration aws.replica",
        both(CONFIGURED + call(providers="{ aws.other = aws }"), ALIASES),
    ),
    "an alias with an empty configuration": (
        "needs the provider configuration aws.replica",
        both(call(), ALIASES + 'provider "aws" {\n  alias = "replica"\n}\n'),
    ),
    "an alias that is not passed, in JSON": (
        "needs the provider configuration aws.replica",
        {"main.tf.json": '{"module": {"a": {"source": "./a", "providers": {"aws": "aws"}}}}', "a/main.tf": ALIASES},
    ),
    "an alias two calls deep": ("needs the provider configuration aws.replica", both(call(), call("../b"), b=ALIASES)),
    "count and a configuration": ("found count, expected none", both(call(count=1), CONFIGURED)),
    "for_each and a configuration": ("found for_each, expected none", both(call(for_each="{}"), CONFIGURED)),
    "depends_on and a configuration": (
        "found depends_on, expected none",
        both(call("./b", "b") + call(depends_on="[module.b]"), CONFIGURED, b=NOTHING),
    ),
    "count and a configuration two calls deep": ("found count", both(call(count=1), call("../b"), b=CONFIGURED)),
    "count and a configuration with a version only": (
        "found count",
        both(call(count=1), 'provider "aws" {\n  version = "~> 5.0"\n}\n'),
    ),
    "a configuration that is passed and made": (
        "passes the provider aws, which ./a configures itself",
        both(CONFIGURED + call(providers="{ aws = aws }"), CONFIGURED),
    ),
    "a provider that the module does not require": (
        "passes the provider dns.b, expected one that ./a requires",
        both(ACME + call(providers="{ dns.b = dns }"), ACME),
    ),
    "a provider of another type": (
        "passes dns as dns, expected a configuration of the same provider",
        both(DNS + call(providers="{ dns = dns }"), ACME),
    ),
    "a provider of another type under another name": (
        "passes aws as dns, expected a configuration of the same provider",
        both(CONFIGURED + call(providers="{ dns = aws }"), ACME),
    ),
    "a provider of another type that nothing requires": (
        "passes dns as dns, expected a configuration of the same provider",
        both(call(providers="{ dns = dns }"), ACME),
    ),
}
# Instances of providers, which Terraform does not have: OpenTofu refuses what does not fit.
MANY = 'provider "terraform" {\n  alias    = "x"\n  for_each = { a = 1 }\n}\n'
ONE = 'provider "terraform" {\n  alias = "x"\n}\n'
USED = 'resource "terraform_data" "x" {\n  provider = terraform.x\n}\n'
INSTANCES = {
    "all instances at once": ("expected an instance, as in terraform.x[each.key]", {"main.tf": MANY + USED}),
    "an instance of one": ("expected a provider with for_each", {"main.tf": ONE + USED.replace("m.x", 'm.x["a"]')}),
    "an instance of nothing": ("expected a provider with for_each", {"main.tf": USED.replace("m.x", 'm.x["a"]')}),
    "all instances for a call": (
        "expected an instance",
        both(MANY + call(providers="{ terraform = terraform.x }"), NOTHING),
    ),
    "an instance of one for a call": (
        "expected a provider with for_each",
        both(ONE + call(providers='{ terraform = terraform.x["a"] }'), NOTHING),
    ),
    "an instance of the called module's": (
        "expected a provider of the called module without a key",
        both(ONE + call(providers='{ terraform.y["a"] = terraform.x }'), NOTHING),
    ),
}

LOADED = {
    "a folder that two call": both(call() + call("./b", "b"), call("../c"), b=call("../c"), c=NOTHING),
    "a diamond": both(call() + call("./c", "c"), call("../c"), c=NOTHING),
    "an alias that is passed": both(CONFIGURED + call(providers="{ aws.replica = aws }"), ALIASES),
    "an alias that is configured": both(call(), ALIASES + REPLICA),
    "an alias that the root needs": {"main.tf": ALIASES},
    "an alias that is passed on": both(
        REPLICA + call(providers="{ aws.replica = aws.replica }"),
        ALIASES + call("../b", "b", providers="{ aws.replica = aws.replica }"),
        b=ALIASES,
    ),
    "count and an empty configuration": both(call(count=1), EMPTY),
    "count and an empty configuration with an alias": both(
        CONFIGURED + call(count=1, providers="{ aws.x = aws }"), 'provider "aws" {\n  alias = "x"\n}\n'
    ),
    "count beside a configuration": both(call(count=1) + CONFIGURED, NOTHING),
    "no dependency and a configuration": both(call(depends_on="[]"), CONFIGURED),
    "a configuration without arguments around": both(call(), CONFIGURED),
    "a provider that nothing declares": both(CONFIGURED + call(providers="{ aws = aws }"), NOTHING),
    "an alias that nothing declares": both(CONFIGURED + call(providers="{ aws.x = aws }"), NOTHING),
    "a provider under another name": both(
        'provider "dns" {\n}\n' + DNS + call(providers="{ names = dns }"),
        DNS.replace("    dns", "    names"),
    ),
    "the same type with another spelling": both(
        ACME + call(providers="{ dns = dns }"), ACME.replace("acme/dns", "Acme/DNS")
    ),
}
