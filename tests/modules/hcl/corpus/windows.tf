variable "windows" {
  type = object({
    a = string
    b = number
  })
  description = <<-EOT
    Lines end
    otherwise.
  EOT
}

output "windows" {
  value = var.windows
}
