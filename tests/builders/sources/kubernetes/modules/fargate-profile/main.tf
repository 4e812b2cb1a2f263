variable "name" { type = string }
variable "cluster_name" { type = string }
variable "subnet_ids" { type = list(string) }

variable "selectors" {
  description = "Which pods run here."
  type        = list(object({ namespace = string, labels = optional(map(string), {}) }))

  validation {
    condition     = length(var.selectors) >= 1 && length(var.selectors) <= 5
    error_message = "Between one and five selectors."
  }
}

variable "tags" {
  type    = map(string)
  default = {}
}

resource "aws_eks_fargate_profile" "this" {
  fargate_profile_name   = var.name
  cluster_name           = var.cluster_name
  subnet_ids             = var.subnet_ids
  pod_execution_role_arn = aws_iam_role.this.arn
  tags                   = var.tags

  dynamic "selector" {
    for_each = var.selectors
    content {
      namespace = selector.value.namespace
      labels    = selector.value.labels
    }
  }
}

resource "aws_iam_role" "this" {
  name_prefix        = "${var.name}-"
  assume_role_policy = data.aws_iam_policy_document.this.json
}

data "aws_iam_policy_document" "this" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["eks-fargate-pods.amazonaws.com"]
    }
  }
}

output "arn" { value = aws_eks_fargate_profile.this.arn }
