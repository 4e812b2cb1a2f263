variable "name" {
  description = "Name of the database server."
  type        = string
}

variable "subnet_ids" {
  description = "Private subnets in at least two zones."
  type        = list(string)
}

variable "engine_version" {
  description = "Version of PostgreSQL."
  type        = string
  default     = "17"
}

variable "instance_class" {
  description = "Size of the server."
  type        = string
  default     = "db.t4g.medium"
}

variable "storage_gb" {
  description = "Storage in GB."
  type        = number
  default     = 50
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
