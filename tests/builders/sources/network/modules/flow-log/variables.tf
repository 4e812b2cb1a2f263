variable "name" {
  type = string
}

variable "vpc_id" {
  type = string
}

variable "traffic" {
  type    = string
  default = "ALL"

  validation {
    condition     = contains(["ALL", "ACCEPT", "REJECT"], var.traffic)
    error_message = "ALL, ACCEPT or REJECT."
  }
}

variable "retention_days" {
  type    = number
  default = 14
}

variable "tags" {
  type    = map(string)
  default = {}
}
