resource "aws_flow_log" "this" {
  count = var.flow_log_destination == "" ? 0 : 1

  vpc_id               = aws_vpc.this.id
  traffic_type         = "REJECT"
  log_destination_type = "s3"
  log_destination      = var.flow_log_destination
  tags                 = var.tags
}

variable "flow_log_destination" {
  description = "ARN of a bucket for logs of refused traffic. Empty: no logs."
  type        = string
  default     = ""
}
