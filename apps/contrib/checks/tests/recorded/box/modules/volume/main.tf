variable "key" {
  type        = string
  description = "The key that encrypts the volume."
}

resource "aws_ebs_volume" "this" {
  availability_zone = "eu-central-1a"
  size              = 20
}
