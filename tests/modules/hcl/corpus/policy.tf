data "aws_iam_policy_document" "this" {
  dynamic "statement" {
    for_each = var.statements
    content {
      sid       = statement.key
      actions   = statement.value.actions
      resources = [for bucket in statement.value.buckets : "arn:aws:s3:::${bucket}/*"]

      dynamic "condition" {
        for_each = statement.value.conditions
        content {
          test     = condition.value.test
          variable = "aws:$${aws:username}"
          values   = condition.value.values
        }
      }
    }
  }
}

resource "aws_iam_policy" "inline" {
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject"]
        Resource = "*"
        Condition = {
          StringEquals = { "aws:PrincipalTag/team" = "shop" }
        }
      }
    ]
  })
}

variable "statements" {
  type = map(object({
    actions    = list(string)
    buckets    = list(string)
    conditions = optional(list(object({ test = string, values = list(string) })), [])
  }))
  validation {
    condition     = length(var.statements) > 0
    error_message = "At least one."
  }
}
