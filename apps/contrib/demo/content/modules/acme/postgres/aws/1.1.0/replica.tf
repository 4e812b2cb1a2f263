resource "aws_db_instance" "replica" {
  count = var.replicas

  identifier          = "${var.name}-replica-${count.index + 1}"
  replicate_source_db = aws_db_instance.this.identifier
  instance_class      = var.instance_class
  skip_final_snapshot = true
}

variable "replicas" {
  description = "Read replicas."
  type        = number
  default     = 0
}

output "replica_addresses" {
  description = "Host names of the replicas."
  value       = aws_db_instance.replica[*].address
}
