variable "name" {
  description = "Prefix of the names of all resources."
  type        = string
}

variable "cidr_block" {
  description = "IPv4 range of the VPC."
  type        = string

  validation {
    condition     = can(cidrhost(var.cidr_block, 0))
    error_message = "This must be an IPv4 range such as 10.20.0.0/16."
  }
}

variable "zones" {
  description = "Availability zones, in the order of their subnets."
  type        = list(string)
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
