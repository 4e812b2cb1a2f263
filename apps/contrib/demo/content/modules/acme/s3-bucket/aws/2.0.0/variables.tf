variable "name" {
  description = "Name of the bucket, unique in all of AWS."
  type        = string
}

variable "owner" {
  description = "Team that answers for the data. It becomes a tag."
  type        = string
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
