moved {
  from = aws_instance.old
  to   = aws_instance.new
}

removed {
  from = aws_instance.gone

  lifecycle {
    destroy = false
  }
}

import {
  for_each = toset(["a", "b"])
  to       = aws_instance.new[each.key]
  id       = each.value
}

check "health" {
  assert {
    condition     = aws_instance.new["a"].id != ""
    error_message = "It has no id."
  }
}

ephemeral "random_password" "db" {
  length = 16
}

resource "aws_instance" "new" {
  for_each = toset(["a", "b"])
}

variable "token" {
  type      = string
  ephemeral = true
  sensitive = true
  nullable  = false
}

output "token" {
  value      = var.token
  ephemeral  = true
  sensitive  = true
  depends_on = [aws_instance.new]

  precondition {
    condition     = var.token != ""
    error_message = "Empty."
  }
}
