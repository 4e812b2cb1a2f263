variable "name" {
  description = "Name of the account: 3 to 24 lower-case letters and digits."
  type        = string
}

variable "resource_group" {
  description = "Resource group that contains it."
  type        = string
}

variable "location" {
  description = "Region, such as westeurope."
  type        = string
}

variable "containers" {
  description = "Containers to create."
  type        = list(string)
  default     = []
}

variable "replication" {
  description = "LRS, ZRS or GRS."
  type        = string
  default     = "ZRS"
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
