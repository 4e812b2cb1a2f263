variable "create" {
  description = "Whether to create anything at all."
  type        = bool
  default     = true
}

variable "cluster_name" {
  description = "The cluster's name."
  type        = string
}

variable "kubernetes_version" {
  description = "`<major>.<minor>` of Kubernetes."
  type        = string
  default     = "1.31"
}

variable "vpc_id" {
  description = "The network that the cluster lives in."
  type        = string
}

variable "subnet_ids" {
  description = "Subnets of the nodes."
  type        = list(string)
}

variable "control_plane_subnet_ids" {
  description = "Subnets of the control plane, where they are others."
  type        = list(string)
  default     = []
}

variable "security_group_ids" {
  description = "More security groups of the control plane."
  type        = list(string)
  default     = []
}

variable "endpoint" {
  description = "How the API can be reached."
  type = object({
    private = optional(bool, true)
    public  = optional(bool, false)
    cidrs   = optional(list(string), ["0.0.0.0/0"])
  })
  default = {}
}

variable "log_types" {
  description = "What the control plane logs."
  type        = set(string)
  default     = ["audit", "api", "authenticator"]
}

variable "encryption" {
  description = "The key for secrets in the cluster. Null: none of ours."
  type = object({
    key_arn   = string
    resources = optional(list(string), ["secrets"])
  })
  default = null
}

variable "enable_oidc" {
  description = "Whether pods may take on roles."
  type        = bool
  default     = true
}

variable "addons" {
  description = "Add-ons by name."
  type        = any
  default = {
    coredns    = {}
    kube-proxy = {}
    vpc-cni    = { before_compute = true }
  }
}

variable "node_groups" {
  description = <<EOT
Groups of nodes by name. For example:

    workers = {
      instance_types = ["m7g.large"]
      scaling        = { min = 1, max = 5 }
    }
EOT

  type = map(object({
    name           = optional(string)
    subnet_ids     = optional(list(string), [])
    instance_types = optional(list(string), ["m7g.large", "m6g.large"])
    ami = optional(object({
      type            = optional(string, "AL2023_ARM_64_STANDARD")
      release_version = optional(string)
    }), {})
    scaling = optional(object({
      min     = optional(number, 1)
      max     = optional(number, 3)
      desired = optional(number)
    }), {})
    labels = optional(map(string), {})
    taints = optional(list(object({
      key    = string
      value  = optional(string)
      effect = string # NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE
    })), [])
    disk = optional(object({
      size       = optional(number, 50)
      type       = optional(string, "gp3")
      throughput = optional(number)
      encryption = optional(object({
        enabled = optional(bool, true)
        key_arn = optional(string)
      }), { enabled = true })
    }), {})
    user_data = optional(string, "")
    tags      = optional(map(string), {})
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for group in values(var.node_groups) : group.scaling.min <= group.scaling.max])
    error_message = "A group's smallest size is not above its largest."
  }

  validation {
    condition = alltrue(flatten([
      for name, group in var.node_groups : [for taint in group.taints : contains(["NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"], taint.effect)]
    ]))
    error_message = "An effect is NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE."
  }
}

variable "fargate_profiles" {
  description = "Fargate profiles by name."
  type = map(object({
    selectors = list(object({
      namespace = string
      labels    = optional(map(string), {})
    }))
    timeouts = optional(object({ create = optional(string), delete = optional(string) }), {})
  }))
  default = {}
}

variable "access_entries" {
  description = "Who may do what in the cluster, by the principal's ARN."
  type = map(object({
    groups = optional(list(string), [])
    policies = optional(map(object({
      arn   = string
      scope = optional(object({ kind = string, namespaces = optional(list(string)) }), { kind = "cluster" })
    })), {})
  }))
  default = {}
}

variable "timeouts" {
  description = "How long to wait."
  type        = map(string)
  default     = {}
}

variable "tags" {
  description = "Tags for everything."
  type        = map(string)
  default     = {}
}

variable "bootstrap_token" {
  description = "Lets nodes that are not ours join."
  type        = string
  default     = "0123456789abcdef"
  sensitive   = true
#: since 2.0.0
  ephemeral   = true
#: end
}

#: until 1.1.0
variable "manage_aws_auth" {
  description = "Whether to write the `aws-auth` map. Gone in 2.0.0: use `access_entries`."
  type        = bool
  default     = false
}

#: end
#: since 1.1.0
variable "upgrade_policy" {
  description = "`STANDARD` or `EXTENDED`."
  type        = string
  default     = "EXTENDED"
}

#: end
#: since 1.1.0
variable "worker_groups" {
  description = "The old name of `node_groups`."
  type        = any
  default     = {}
  deprecated  = "Use node_groups; worker_groups goes in 3.0.0."
}

#: end
#: since 2.0.0
variable "auto_mode" {
  description = "Lets the cluster bring its own nodes."
  type = object({
    enabled    = optional(bool, false)
    node_pools = optional(list(string), ["general-purpose", "system"])
  })
  default = {}
}
#: end
