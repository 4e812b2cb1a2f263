variable "region" {
  description = "Where to build it."
  type        = string
  default     = "eu-central-1"
}
