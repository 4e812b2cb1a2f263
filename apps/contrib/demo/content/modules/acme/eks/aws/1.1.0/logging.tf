resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/eks/${var.name}/cluster"
  retention_in_days = var.log_days
}

variable "log_days" {
  description = "Days for which logs of the control plane are kept."
  type        = number
  default     = 90
}
