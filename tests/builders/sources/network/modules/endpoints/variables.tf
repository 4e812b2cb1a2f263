variable "vpc_id" {
  description = "The network to add endpoints to."
  type        = string
}

variable "subnet_ids" {
  description = "Subnets for interface endpoints."
  type        = list(string)
  default     = []
}

variable "endpoints" {
  description = "Endpoints by the name of their service."
  type = map(object({
    kind           = optional(string, "Interface")
    private_dns    = optional(bool, true)
    security_group = optional(string)
  }))
}

variable "tags" {
  description = "Tags for everything."
  type        = map(string)
  default     = {}
}
