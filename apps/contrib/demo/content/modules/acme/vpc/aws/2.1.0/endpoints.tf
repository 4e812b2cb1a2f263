resource "aws_vpc_endpoint" "gateway" {
  for_each = var.gateway_endpoints

  vpc_id       = aws_vpc.this.id
  service_name = "com.amazonaws.${each.key}"
  tags         = merge(var.tags, { Name = "${var.name}-${each.key}" })
}

variable "gateway_endpoints" {
  description = "Services to reach without the internet, such as eu-central-1.s3."
  type        = set(string)
  default     = []
}
