resource "aws_cloudwatch_log_group" "this" {
  name              = "/network/${var.name}"
  retention_in_days = var.retention_days
  tags              = var.tags
}

resource "aws_iam_role" "this" {
  name_prefix = substr("${var.name}-flow-log-", 0, 38)

  assume_role_policy = <<-JSON
    {
      "Version": "2012-10-17",
      "Statement": [{
        "Effect": "Allow",
        "Principal": {"Service": "vpc-flow-logs.amazonaws.com"},
        "Action": "sts:AssumeRole"
      }]
    }
  JSON

  tags = var.tags
}

resource "aws_flow_log" "this" {
  vpc_id          = var.vpc_id
  traffic_type    = var.traffic
  iam_role_arn    = aws_iam_role.this.arn
  log_destination = aws_cloudwatch_log_group.this.arn
  tags            = var.tags
}

output "id" {
  description = "The flow log."
  value       = aws_flow_log.this.id
}
