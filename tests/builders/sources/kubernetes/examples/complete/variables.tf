variable "name" {
  type    = string
  default = "complete"
}

variable "vpc_id" {
  type = string
}

variable "subnet_ids" {
  type = list(string)
}
