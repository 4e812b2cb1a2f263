resource "aws_s3_bucket_lifecycle_configuration" "this" {
  bucket = aws_s3_bucket.this.id

  rule {
    id     = "expire"
    status = "Enabled"

    expiration {
      days = var.expire_after_days
    }
  }
}

variable "expire_after_days" {
  description = "Delete objects after so many days."
  type        = number
  default     = 30
}
