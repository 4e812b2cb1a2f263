"""A module with every construct that Larder reads since inspector 8, in HCL and in JSON.

OpenTofu 1.12 and any Terraform since 1.7 load the root: only OpenTofu reads `opentofu.tofu`. What only Terraform 1.14
to 1.16 reads is in `modules/tasks`, which the root does not call.
"""

import json

_MAIN = """\
terraform {
  required_version = ">= 1.7"
}

variable "names" {
  type        = set(string)
  description = "One box for each."
  default     = ["a"]
}

resource "terraform_data" "box" {
  for_each = var.names
}

resource "terraform_data" "shelf" {
  count = 2
}

resource "terraform_data" "door" {}

module "parts" {
  source   = "./modules/plain"
  for_each = var.names
}

moved {
  from = terraform_data.crate
  to   = terraform_data.box["a"]
}

removed {
  from = terraform_data.attic
  lifecycle {
    destroy = false
  }
}

removed {
  from = terraform_data.cellar
  lifecycle {
    destroy = true
  }
}

output "shelves" {
  value       = terraform_data.shelf[*].id
  description = "Their ids."
}
"""
_OPENTOFU = """\
language {
  compatible_with {
    opentofu = ">= 1.12"
  }
}

variable "flavour" {
  type        = string
  description = "Which of the folders below modules/."
  default     = "plain"
  const       = true
}

module "flavoured" {
  source = "./modules/${var.flavour}"
}

module "remote" {
  count   = 0
  source  = var.flavour == "plain" ? "./modules/plain" : "./modules/tasks"
}
"""
_PLAIN = 'output "kind" {\n  value = "plain"\n}\n'
_TASKS = """\
action "aws_lambda_invoke" "warm" {
  config {
    function_name = "warm"
  }
}

action "local_command" "note" {
  provider = shell.other
}

variable "region" {
  type        = string
  description = "Where it runs."
  const       = true
}

variable "secret" {
  type        = string
  description = "A password."
  default     = "hunter2"
  sensitive   = true
  nullable    = false
}

removed {
  from = terraform_data.shed
}

import {
  to = terraform_data.kept["a"]
  id = "1"
}

output "plan" {
  type        = object({ name = string, ports = list(number) })
  value       = { name = "x", ports = [1] }
  description = "What it runs."
}
"""
_QUERY = """\
list "aws_instance" "old" {
  provider = aws.west
  config {
    region = "eu-west-1"
  }
}
"""
_MIGRATION = """\
from {
  backend "s3" {
    bucket = "state"
  }
}
"""
HCL = {
    "main.tf": _MAIN,
    "opentofu.tofu": _OPENTOFU,
    "modules/plain/main.tf": _PLAIN,
    "modules/tasks/main.tf": _TASKS,
    "modules/tasks/old.tfquery.hcl": _QUERY,
    "modules/tasks/move.tfmigrate.hcl": _MIGRATION,
    "README.md": "# Everything\n\nA module with every construct.\n",
}
_MAIN_JSON = {
    "terraform": {"required_version": ">= 1.7"},
    "variable": {"names": {"type": "set(string)", "description": "One box for each.", "default": ["a"]}},
    "resource": {
        "terraform_data": {"box": {"for_each": "${var.names}"}, "shelf": {"count": 2}, "door": {}},
    },
    "module": {"parts": {"source": "./modules/plain", "for_each": "${var.names}"}},
    "moved": {"from": "terraform_data.crate", "to": 'terraform_data.box["a"]'},
    "removed": [
        {"from": "terraform_data.attic", "lifecycle": {"destroy": False}},
        {"from": "terraform_data.cellar", "lifecycle": {"destroy": True}},
    ],
    "output": {"shelves": {"value": "${terraform_data.shelf[*].id}", "description": "Their ids."}},
}
_OPENTOFU_JSON = {
    "language": {"compatible_with": {"opentofu": ">= 1.12"}},
    "variable": {
        "flavour": {
            "type": "string",
            "description": "Which of the folders below modules/.",
            "default": "plain",
            "const": True,
        }
    },
    "module": {
        "flavoured": {"source": "./modules/${var.flavour}"},
        "remote": {
            "count": 0,
            "source": '${var.flavour == "plain" ? "./modules/plain" : "./modules/tasks"}',
        },
    },
}
_TASKS_JSON = {
    "action": {
        "aws_lambda_invoke": {"warm": {"config": {"function_name": "warm"}}},
        "local_command": {"note": {"provider": "shell.other"}},
    },
    "variable": {
        "region": {"type": "string", "description": "Where it runs.", "const": True},
        "secret": {
            "type": "string",
            "description": "A password.",
            "default": "hunter2",
            "sensitive": True,
            "nullable": False,
        },
    },
    "removed": {"from": "terraform_data.shed"},
    "import": {"to": 'terraform_data.kept["a"]', "id": "1"},
    "output": {
        "plan": {
            "type": "object({ name = string, ports = list(number) })",
            "value": {"name": "x", "ports": [1]},
            "description": "What it runs.",
        }
    },
}
_QUERY_JSON = {"list": {"aws_instance": {"old": {"provider": "aws.west", "config": {"region": "eu-west-1"}}}}}
JSON = {
    "main.tf.json": json.dumps(_MAIN_JSON),
    "opentofu.tofu.json": json.dumps(_OPENTOFU_JSON),
    "modules/plain/main.tf": _PLAIN,
    "modules/tasks/main.tf.json": json.dumps(_TASKS_JSON),
    "modules/tasks/old.tfquery.json": json.dumps(_QUERY_JSON),
    "modules/tasks/move.tfmigrate.hcl": _MIGRATION,  # it has no JSON syntax
}
