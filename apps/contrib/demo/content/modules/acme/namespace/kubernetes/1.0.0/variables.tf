variable "name" {
  description = "Name of the namespace."
  type        = string
}

variable "team" {
  description = "Team that works in it."
  type        = string
}

variable "cpu" {
  description = "CPU that its pods may request."
  type        = string
  default     = "8"
}

variable "memory" {
  description = "Memory that its pods may request."
  type        = string
  default     = "16Gi"
}
