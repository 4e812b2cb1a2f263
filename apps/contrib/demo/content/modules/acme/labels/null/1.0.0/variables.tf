variable "team" {
  description = "Team that answers for it."
  type        = string
}

variable "service" {
  description = "Service that it belongs to."
  type        = string
}

variable "stage" {
  description = "production, staging or empty."
  type        = string
  default     = ""
}
