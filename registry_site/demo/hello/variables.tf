variable "names" {
  description = "Who is greeted. Empty entries are left out."
  type        = list(string)
  default     = ["world"]
}

variable "salutation" {
  description = "The first word of the greeting."
  type        = string
  default     = "Hello"

  validation {
    condition     = length(var.salutation) > 0
    error_message = "A greeting begins with at least one letter."
  }
}
