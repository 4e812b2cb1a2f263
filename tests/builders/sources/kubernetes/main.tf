locals {
  create        = var.create
  cluster_name  = var.cluster_name
  addons        = { for name, addon in var.addons : name => addon if try(addon.enabled, true) }
  oidc_provider = try(replace(aws_eks_cluster.this[0].identity[0].oidc[0].issuer, "https://", ""), null)

  # One entry for each pair of entry and policy.
  associations = merge([
    for principal, entry in var.access_entries : {
      for key, policy in entry.policies : "${principal}/${key}" => {
        principal = principal
        policy    = policy.arn
        scope     = policy.scope
      }
    }
  ]...)
}

resource "aws_eks_cluster" "this" {
  count = local.create ? 1 : 0

  name     = local.cluster_name
  role_arn = local.create ? aws_iam_role.cluster[0].arn : null
  version  = var.kubernetes_version

  enabled_cluster_log_types = var.log_types

  vpc_config {
    subnet_ids              = coalescelist(var.control_plane_subnet_ids, var.subnet_ids)
    security_group_ids      = compact(distinct(concat(var.security_group_ids, [aws_security_group.cluster[0].id])))
    endpoint_private_access = var.endpoint.private
    endpoint_public_access  = var.endpoint.public
    public_access_cidrs     = var.endpoint.cidrs
  }

  dynamic "encryption_config" {
    for_each = var.encryption == null ? [] : [var.encryption]

    content {
      provider {
        key_arn = encryption_config.value.key_arn
      }
      resources = encryption_config.value.resources
    }
  }

  timeouts {
    create = lookup(var.timeouts, "create", null)
    delete = lookup(var.timeouts, "delete", null)
  }

  tags = var.tags

  lifecycle {
    ignore_changes = [access_config[0].bootstrap_cluster_creator_admin_permissions]
  }
}

resource "aws_iam_role" "cluster" {
  count = local.create ? 1 : 0

  name_prefix        = "${local.cluster_name}-"
  assume_role_policy = data.aws_iam_policy_document.assume.json
  tags               = var.tags
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["eks.${data.aws_partition.current.dns_suffix}"]
    }
  }
}

data "aws_partition" "current" {}

data "tls_certificate" "issuer" {
  count = local.create && var.enable_oidc ? 1 : 0

  url = aws_eks_cluster.this[0].identity[0].oidc[0].issuer
}

resource "aws_iam_openid_connect_provider" "this" {
  count = local.create && var.enable_oidc ? 1 : 0

  client_id_list  = ["sts.amazonaws.com"]
  thumbprint_list = data.tls_certificate.issuer[0].certificates[*].sha1_fingerprint
  url             = aws_eks_cluster.this[0].identity[0].oidc[0].issuer
}

resource "aws_security_group" "cluster" {
  count = local.create ? 1 : 0

  name_prefix = "${local.cluster_name}-cluster-"
  vpc_id      = var.vpc_id
  tags        = merge(var.tags, { Name = "${local.cluster_name}-cluster" })
}

resource "aws_eks_addon" "this" {
  for_each = { for name, addon in local.addons : name => addon if local.create }

  cluster_name         = aws_eks_cluster.this[0].name
  addon_name           = each.key
  addon_version        = try(each.value.version, null)
  configuration_values = try(jsonencode(each.value.configuration), null)
  tags                 = merge(var.tags, try(each.value.tags, {}))

  depends_on = [module.node_groups, module.fargate_profiles]
}

module "node_groups" {
  source   = "./modules/node-group"
  for_each = { for name, group in var.node_groups : name => group if local.create }

  name            = coalesce(each.value.name, each.key)
  cluster_name    = aws_eks_cluster.this[0].name
  subnet_ids      = coalescelist(each.value.subnet_ids, var.subnet_ids)
  instance_types  = each.value.instance_types
  scaling         = each.value.scaling
  labels          = each.value.labels
  taints          = each.value.taints
  user_data       = each.value.user_data
  tags            = merge(var.tags, each.value.tags)
}

module "fargate_profiles" {
  source   = "./modules/fargate-profile"
  for_each = { for name, profile in var.fargate_profiles : name => profile if local.create }

  name         = each.key
  cluster_name = aws_eks_cluster.this[0].name
  subnet_ids   = var.subnet_ids
  selectors    = each.value.selectors
  tags         = var.tags
}

#: since 1.1.0
module "access_entries" {
  source   = "./modules/access-entry"
  for_each = var.access_entries

  cluster_name = aws_eks_cluster.this[0].name
  principal    = each.key
  groups       = each.value.groups
}

#: end
#: since 2.0.0
removed {
  from = kubernetes_config_map.auth

  lifecycle {
    destroy = false
  }
}
#: end
