variable "cluster_name" {
  type = string
}

variable "principal" {
  type        = string
  description = "An ARN."
}

variable "groups" {
  type    = list(string)
  default = []
}

resource "aws_eks_access_entry" "this" {
  cluster_name      = var.cluster_name
  principal_arn     = var.principal
  kubernetes_groups = var.groups
}

output "arn" {
  value = aws_eks_access_entry.this.access_entry_arn
}
