variable "name" {
  description = "The name that everything here carries."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}$", var.name))
    error_message = "A name starts with a letter and holds only small letters, digits and dashes, at most 31."
  }
}

variable "cidr" {
  description = "The addresses of the network, in CIDR notation."
  type        = string
  default     = "10.0.0.0/16"

  validation {
    condition     = can(cidrhost(var.cidr, 0))
    error_message = "Not a CIDR block."
  }

  validation {
    condition     = tonumber(split("/", var.cidr)[1]) <= 24
    error_message = "A network smaller than /24 leaves no room for subnets."
  }
}

variable "secondary_cidrs" {
  description = "More blocks of addresses to associate with the network."
  type        = list(string)
  default     = []
}

variable "availability_zones" {
  description = "The zones to spread over, in this order."
  type        = list(string)
}

variable "max_availability_zones" {
  description = "Use at most so many of the zones."
  type        = number
  default     = 3
}

variable "public_subnets" {
  description = "One block of addresses for each public subnet."
  type        = list(string)
  default     = ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"]
}

variable "private_subnets" {
  description = "One block of addresses for each private subnet."
  type        = list(string)
  default = [
    "10.0.16.0/20", # the first zone
    "10.0.32.0/20", # the second
    "10.0.48.0/20",
  ]
}

variable "nat_gateway" {
  description = <<-EOT
    How private subnets reach the internet:

    * `none`: not at all
    * `single`: through one gateway, which is cheap and fails with its zone
    * `per-zone`: through a gateway in each zone
  EOT
  type        = string
  default     = "single"

  validation {
    condition     = contains(["none", "single", "per-zone"], var.nat_gateway)
    error_message = "One of \"none\", \"single\", \"per-zone\"."
  }
}

variable "create_internet_gateway" {
  description = "Whether public subnets get a way out."
  type        = bool
  default     = true
}

variable "instance_tenancy" {
  description = "`default` or `dedicated`."
  type        = string
  default     = "default"
}

variable "enable_dns_hostnames" {
  description = "Whether instances get host names."
  type        = bool
  default     = true
}

variable "enable_dns_support" {
  description = "Whether the network has a resolver."
  type        = bool
  default     = true
}

variable "enable_ipv6" {
  description = "Whether to ask for an IPv6 block."
  type        = bool
  default     = false
}

variable "flow_log" {
  description = "What is recorded of the traffic."
  type = object({
    enabled        = optional(bool, false)
    traffic        = optional(string, "ALL") # ALL, ACCEPT or REJECT
    retention_days = optional(number, 14)
    format = optional(object({
      file_format       = optional(string, "plain-text")
      hive_partitions   = optional(bool, false)
      per_hour          = optional(bool, false)
      additional_fields = optional(map(string), {})
    }), {})
  })
  default  = {}
  nullable = false
}

variable "manage_default_network_acl" {
  description = "Whether to take over the network ACL that every network starts with."
  type        = bool
  default     = true
}

variable "network_acl_rules" {
  description = "Rules of the default network ACL."
  type = object({
    ingress = list(object({
      number    = number
      action    = string
      protocol  = string
      from_port = number
      to_port   = number
      cidr      = string
    }))
    egress = list(object({
      number    = number
      action    = string
      protocol  = string
      from_port = number
      to_port   = number
      cidr      = string
    }))
  })
  default = {
    ingress = [{ number = 100, action = "allow", protocol = "-1", from_port = 0, to_port = 0, cidr = "0.0.0.0/0" }]
    egress  = [{ number = 100, action = "allow", protocol = "-1", from_port = 0, to_port = 0, cidr = "0.0.0.0/0" }]
  }
}

variable "manage_default_security_group" {
  description = "Whether to take over the default security group and leave it without rules."
  type        = bool
  default     = true
}

variable "dhcp_options" {
  description = "What instances are told by DHCP. Null: the provider's own."
  type = object({
    domain_name = optional(string)
    servers     = optional(list(string), ["AmazonProvidedDNS"])
  })
  default = null
}

variable "default_route_table_routes" {
  description = "Routes of the main route table."
  type        = list(map(string))
  default     = []
}

variable "endpoints" {
  description = "Interface and gateway endpoints by the name of their service."
  type = map(object({
    kind           = optional(string, "Interface")
    private_dns    = optional(bool, true)
    security_group = optional(string)
    policy         = optional(string)
  }))
  default = {}
}

variable "tags" {
  description = "Tags for everything."
  type        = map(string)
  default     = {}
}

variable "vpc_tags" {
  description = "More tags for the network."
  type        = map(string)
  default     = {}
}

variable "public_subnet_tags" {
  description = "More tags for public subnets."
  type        = map(string)
  default = {
    "kubernetes.io/role/elb" = "1"
    Tier                     = "public"
  }
}

variable "private_subnet_tags" {
  description = "More tags for private subnets."
  type        = map(string)
  default     = { Tier = "private" }
}

variable "internet_gateway_tags" {
  description = "More tags for the internet gateway."
  type        = map(string)
  default     = {}
}

variable "nat_gateway_tags" {
  description = "More tags for NAT gateways."
  type        = map(string)
  default     = {}
}

variable "map_public_ip_on_launch" {
  description = "Whether instances in public subnets get a public address."
  type        = bool
  default     = false
}

variable "resolver_query_log_key" {
  description = "The key under which resolver queries are logged."
  type        = string
  default     = "not-so-secret-default-of-a-key"
  sensitive   = true
}

variable "timeouts" {
  description = "How long to wait, by what is waited for."
  type        = map(string)
  default     = { create = "10m", delete = "20m" }
}

#: until 1.1.0
variable "enable_classiclink" {
  description = "Left from long ago; removed in 2.0.0."
  type        = bool
  default     = false
}

#: end
#: until 1.1.0
variable "single_nat_gateway" {
  description = "Use `nat_gateway = \"single\"` instead."
  type        = bool
  default     = null
}

#: end
#: since 1.1.0
variable "vpn_gateway" {
  description = "Whether and how to attach a VPN gateway."
  type = object({
    enabled = bool
    asn     = optional(number, 64512)
  })
  default = { enabled = false }
}

#: end
#: since 1.1.0
variable "customer_gateways" {
  description = "The other ends of VPN connections."
  type        = map(object({ asn = number, address = string }))
  default     = {}
}

#: end
#: since 1.1.0
variable "block_public_access" {
  description = "`off`, `block-bidirectional` or `block-ingress`."
  type        = string
  default     = "off"
}

#: end
#: since 2.0.0
variable "peers" {
  description = "Networks to peer with."
  type = list(object({
    name    = string
    vpc_id  = string
    region  = optional(string)
    enabled = optional(bool, true)
  }))
  default  = []
  nullable = false
}

#: end
#: since 2.0.0
variable "ipam_pool_id" {
  description = "Take the addresses from this pool instead of `cidr`."
  type        = string
  default     = null
}

#: end
#: since 2.0.0
variable "ipam_netmask_length" {
  description = "How large a block to take from the pool."
  type        = number
  default     = 16
}

#: end
#: since 2.0.0
variable "route_table_per_subnet" {
  description = "Whether each private subnet has its own route table."
  type        = bool
  default     = true
}
#: end
