resource "aws_default_network_acl" "this" {
  count = var.manage_default_network_acl ? 1 : 0

  default_network_acl_id = aws_vpc.this.default_network_acl_id

  dynamic "ingress" {
    for_each = var.network_acl_rules.ingress
    content {
      rule_no    = ingress.value.number
      action     = ingress.value.action
      protocol   = ingress.value.protocol
      from_port  = ingress.value.from_port
      to_port    = ingress.value.to_port
      cidr_block = ingress.value.cidr
    }
  }

  dynamic "egress" {
    for_each = var.network_acl_rules.egress
    iterator = rule
    content {
      rule_no    = rule.value.number
      action     = rule.value.action
      protocol   = rule.value.protocol
      from_port  = rule.value.from_port
      to_port    = rule.value.to_port
      cidr_block = rule.value.cidr
    }
  }

  tags = local.tags
}

resource "aws_default_security_group" "this" {
  count = var.manage_default_security_group ? 1 : 0

  vpc_id = aws_vpc.this.id
  tags   = local.tags
}

resource "aws_vpc_dhcp_options" "this" {
  count = var.dhcp_options == null ? 0 : 1

  domain_name         = var.dhcp_options.domain_name
  domain_name_servers = var.dhcp_options.servers
  tags                = local.tags
}

resource "aws_vpc_dhcp_options_association" "this" {
  count = var.dhcp_options == null ? 0 : 1

  vpc_id          = aws_vpc.this.id
  dhcp_options_id = aws_vpc_dhcp_options.this[0].id
}

#: since 1.1.0
resource "aws_vpn_gateway" "this" {
  count = var.vpn_gateway.enabled ? 1 : 0

  vpc_id          = aws_vpc.this.id
  amazon_side_asn = var.vpn_gateway.asn
  tags            = local.tags
}

#: end
#: since 2.0.0
resource "aws_vpc_peering_connection" "this" {
  for_each = { for peer in var.peers : peer.name => peer if peer.enabled }
  provider = aws.peer

  vpc_id      = aws_vpc.this.id
  peer_vpc_id = each.value.vpc_id
  peer_region = coalesce(each.value.region, data.aws_region.current.name)
  auto_accept = false
  tags        = merge(local.tags, { Peer = each.key })
}
#: end
