variable "context" {
  type = object({
    enabled         = optional(bool, true)
    namespace       = optional(string)
    environment     = optional(string)
    stage           = optional(string)
    name            = optional(string)
    delimiter       = optional(string)
    attributes      = optional(list(string), [])
    tags            = optional(map(string), {})
    label_order     = optional(list(string), [])
    letter_case     = optional(string)
    id_length_limit = optional(number, 0)
  })
  default = {
    enabled         = true
    namespace       = null
    environment     = null
    stage           = null
    name            = null
    delimiter       = null
    attributes      = []
    tags            = {}
    label_order     = []
    letter_case     = null
    id_length_limit = 0
  }
  description = <<-EOT
    A whole context at once: the `context` output of another label.
    What is set by a variable of its own wins, but for
    `attributes` and `tags`, which are put together.
  EOT

  validation {
    condition     = var.context.letter_case == null ? true : contains(["lower", "title", "upper", "none"], var.context.letter_case)
    error_message = "Allowed values: `lower`, `title`, `upper`, `none`."
  }
}

variable "enabled" {
  type        = bool
  default     = null
  description = "Set to false to create nothing."
}

variable "namespace" {
  type        = string
  default     = null
  description = "Who: an abbreviation of your organisation."
}

variable "environment" {
  type        = string
  default     = null
  description = "Where: a region, for example."
}

variable "stage" {
  type        = string
  default     = null
  description = "What for: `prod`, `staging`."
}

variable "name" {
  type        = string
  default     = null
  description = "What: the component. The only part that is no tag."
}

variable "delimiter" {
  type        = string
  default     = null
  description = "What stands between the parts. Null: `-`."
}

variable "attributes" {
  type        = list(string)
  default     = []
  description = "More parts, behind the others."
}

variable "tags" {
  type        = map(string)
  default     = {}
  description = "More tags."
}

variable "label_order" {
  type        = list(string)
  default     = []
  description = "The order of the parts."
}

variable "letter_case" {
  type        = string
  default     = null
  description = "`lower`, `title`, `upper` or `none`."

  validation {
    condition     = var.letter_case == null ? true : contains(["lower", "title", "upper", "none"], var.letter_case)
    error_message = "Allowed values: `lower`, `title`, `upper`, `none`."
  }
}

#: until 1.1.0
variable "regex_replace_chars" {
  type        = string
  default     = "/[^a-zA-Z0-9-]/"
  description = "What is thrown away. Fixed since 2.0.0."
}

#: end
#: since 1.1.0
variable "id_length_limit" {
  type        = number
  default     = null
  description = "How long an id may be. 0: as long as it gets."

  validation {
    condition     = var.id_length_limit == null ? true : var.id_length_limit >= 6 || var.id_length_limit == 0
    error_message = "At least 6, or 0 for no limit."
  }
}

#: end
#: since 2.0.0
variable "labels_as_tags" {
  type        = set(string)
  default     = ["default"]
  description = "Which parts become tags."
}
#: end
