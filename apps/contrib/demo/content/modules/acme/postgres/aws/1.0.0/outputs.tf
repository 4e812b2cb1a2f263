output "address" {
  description = "Host name of the server."
  value       = aws_db_instance.this.address
}

output "secret_arn" {
  description = "ARN of the secret with the password."
  value       = aws_db_instance.this.master_user_secret[0].secret_arn
}
