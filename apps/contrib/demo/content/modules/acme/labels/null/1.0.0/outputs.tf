output "name" {
  description = "Name of 63 characters at most, in lower case."
  value       = substr(local.name, 0, 63)
}

output "tags" {
  description = "Tags that bills are split by."
  value       = { team = var.team, service = var.service, stage = var.stage }
}
