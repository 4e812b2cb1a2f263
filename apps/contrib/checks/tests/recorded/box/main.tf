variable "name" {
  type        = string
  description = "What the box is called."
}

resource "terraform_data" "box" {
  input = upper(var.name)
}

output "label" {
  value       = terraform_data.box.output
  description = "The name, as it stands on the box."
}
