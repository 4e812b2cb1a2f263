variable "name" {
  description = "Name of the network."
  type        = string
}

variable "regions" {
  description = "IPv4 range of the subnetwork in each region."
  type        = map(string)
}
