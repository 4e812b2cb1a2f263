variable "name" {
  description = "Name of the cluster."
  type        = string
}

variable "subnet_ids" {
  description = "Private subnets for the control plane and the nodes."
  type        = list(string)
}

variable "role_arn" {
  description = "IAM role of the cluster and its nodes."
  type        = string
}

variable "kubernetes_version" {
  description = "Version of Kubernetes."
  type        = string
  default     = "1.33"
}

variable "nodes" {
  description = "Nodes that always run."
  type        = number
  default     = 3
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
}
