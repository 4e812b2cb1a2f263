resource "aws_security_group" "this" {
  name = "x"

  dynamic "ingress" {
    for_each = { for rule in var.rules : rule.name => rule if rule.direction == "in" }
    iterator = rule

    content {
      from_port = rule.value.port
      to_port   = rule.value.port
      protocol  = "tcp"

      dynamic "nested" {
        for_each = rule.value.nested[*]
        content {
          value = nested.value
        }
      }
    }
  }

  lifecycle {
    create_before_destroy = true
    ignore_changes        = [tags["Owner"], ingress]
    replace_triggered_by  = [terraform_data.replacement.id]
  }

  provisioner "local-exec" {
    command = "echo ${self.id} > ids.txt"
    when    = destroy
  }

  connection {
    type = "ssh"
    host = self.public_ip
  }
}

resource "terraform_data" "replacement" {
  input = var.rules
}

variable "rules" {
  type = list(object({ name = string, port = number, direction = string, nested = optional(string) }))
}
