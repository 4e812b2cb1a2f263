data "aws_region" "current" {}

data "aws_caller_identity" "current" {}

data "aws_iam_policy_document" "endpoint" {
  statement {
    sid     = "OnlyThisAccount"
    effect  = "Allow"
    actions = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["*"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:PrincipalAccount"
      values   = [data.aws_caller_identity.current.account_id]
    }

    resources = ["arn:aws:s3:::$${bucket}/*", "*"] # the first is a literal, not a template
  }
}
