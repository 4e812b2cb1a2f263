# One rule for one text: letters that a name may hold, joined and cut.

variable "parts" {
  description = "What the text is made of, in order. Empty parts are dropped."
  type        = list(string)
}

variable "delimiter" {
  description = "What stands between the parts."
  type        = string
  default     = "-"
}

variable "limit" {
  description = "The most characters; `0` is no limit."
  type        = number
  default     = 0

  validation {
    condition     = var.limit >= 0
    error_message = "A limit is zero or more."
  }
}

locals {
  whole = join(var.delimiter, compact(var.parts))
}

output "text" {
  description = "The text, cut to its limit."
  value       = var.limit == 0 ? local.whole : substr(local.whole, 0, var.limit)
}

output "is_cut" {
  description = "Whether anything was cut off."
  value       = var.limit != 0 && length(local.whole) > var.limit
}
