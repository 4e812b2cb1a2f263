output "ids" {
  value = aws_instance.many[*].id
}

output "legacy" {
  value = aws_instance.many.*.id
}

output "deep" {
  value = module.groups[*].nodes[0].names["first"][*]
}

output "expanded" {
  value = max(local.numbers...)
}

resource "aws_instance" "many" {
  count = 3
  ami   = data.aws_ami.this.id
}

data "aws_ami" "this" {
  most_recent = true
}
