locals {
  user_data = var.user_data != "" ? base64encode(templatefile("${path.module}/user_data.tftpl", {
    cluster = var.cluster_name
    extra   = var.user_data
  })) : null
}

resource "aws_launch_template" "this" {
  count = local.user_data == null ? 0 : 1

  name_prefix = "${var.name}-"
  user_data   = local.user_data

  dynamic "tag_specifications" {
    for_each = toset(["instance", "volume"])
    content {
      resource_type = tag_specifications.key
      tags          = merge(var.tags, { Name = var.name })
    }
  }
}

resource "aws_eks_node_group" "this" {
  node_group_name_prefix = "${var.name}-"
  cluster_name           = var.cluster_name
  node_role_arn          = aws_iam_role.this.arn
  subnet_ids             = var.subnet_ids
  instance_types         = var.instance_types
  labels                 = var.labels
  tags                   = var.tags

  scaling_config {
    min_size     = var.scaling.min
    max_size     = var.scaling.max
    desired_size = coalesce(var.scaling.desired, var.scaling.min)
  }

  dynamic "taint" {
    for_each = { for taint in var.taints : taint.key => taint }
    content {
      key    = taint.key
      value  = taint.value.value
      effect = taint.value.effect
    }
  }

  dynamic "launch_template" {
    for_each = aws_launch_template.this
    content {
      id      = launch_template.value.id
      version = launch_template.value.latest_version
    }
  }

  lifecycle {
    create_before_destroy = true
    ignore_changes        = [scaling_config[0].desired_size]
  }
}

resource "aws_iam_role" "this" {
  name_prefix = "${substr(var.name, 0, 30)}-"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "ec2.amazonaws.com" }
    }]
  })
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each = toset([
    "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly",
    "AmazonEKS_CNI_Policy"
  ])

  role       = aws_iam_role.this.name
  policy_arn = "arn:aws:iam::aws:policy/${each.value}"
}
