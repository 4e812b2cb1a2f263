variable "name" {
  description = "Name of the cluster."
  type        = string
}

variable "resource_group" {
  description = "Resource group that contains it."
  type        = string
}

variable "location" {
  description = "Region."
  type        = string
}

variable "nodes" {
  description = "Nodes of the default pool."
  type        = number
  default     = 3
}

variable "vm_size" {
  description = "Size of the nodes."
  type        = string
  default     = "Standard_D4s_v5"
}
