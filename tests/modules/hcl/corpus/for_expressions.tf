locals {
  upper    = [for name in var.names : upper(name)]
  indexed  = { for index, name in var.names : name => index }
  grouped  = { for pet in var.pets : pet.kind => pet.name... }
  filtered = [for name in var.names : name if length(name) > 3 && !startswith(name, "x")]
  nested   = flatten([for a in var.names : [for b in var.names : "${a}-${b}" if a != b]])
  multi = {
    for key, value in { a = 1, b = 2 } :
    key => {
      twice = value * 2
      half  = value / 2
      rest  = value % 2
    }
  }
}

variable "names" { type = list(string) }
variable "pets" { type = list(object({ kind = string, name = string })) }
output "all" { value = [local.upper, local.indexed, local.grouped] }
