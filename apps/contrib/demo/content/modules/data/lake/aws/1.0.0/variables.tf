variable "name" {
  description = "Prefix of the names of the buckets."
  type        = string
}
