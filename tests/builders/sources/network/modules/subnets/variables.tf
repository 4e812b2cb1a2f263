variable "name" {
  description = "What the subnets' names start with."
  type        = string
}

variable "vpc_id" {
  description = "The network that they belong to."
  type        = string
}

variable "subnets" {
  description = "Subnets by a key of your choice."
  type        = map(object({ cidr = string, zone = string }))
}

variable "public" {
  description = "Whether they face the internet."
  type        = bool
  default     = false
}

variable "gateways" {
  description = "Where traffic leaves."
  type        = list(string)
  default     = []
}

variable "tags" {
  description = "Tags for everything."
  type        = map(string)
  default     = {}
}
