variable "cost_centre" {
  description = "Who pays for it. Empty: the team's own."
  type        = string
  default     = ""
}

output "cost_centre" {
  description = "Tag of the cost centre, if there is one."
  value       = var.cost_centre == "" ? {} : { cost_centre = var.cost_centre }
}
