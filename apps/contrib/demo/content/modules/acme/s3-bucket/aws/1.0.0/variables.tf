variable "name" {
  description = "Name of the bucket, unique in all of AWS."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
