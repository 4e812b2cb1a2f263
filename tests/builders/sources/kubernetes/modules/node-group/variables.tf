variable "name" {
  description = "The group's name."
  type        = string
}

variable "cluster_name" {
  description = "The cluster that it belongs to."
  type        = string
}

variable "subnet_ids" {
  description = "Where its nodes run."
  type        = list(string)
}

variable "instance_types" {
  description = "The kinds of instance that will do."
  type        = list(string)
  default     = ["m7g.large"]
}

variable "scaling" {
  description = "How many nodes."
  type = object({
    min     = optional(number, 1)
    max     = optional(number, 3)
    desired = optional(number)
  })
  default = {}
}

variable "labels" {
  description = "Labels of the nodes."
  type        = map(string)
  default     = {}
}

variable "taints" {
  description = "Taints of the nodes."
  type = list(object({
    key    = string
    value  = optional(string)
    effect = string
  }))
  default = []
}

variable "user_data" {
  description = "What nodes run when they start."
  type        = string
  default     = <<-SH
    #!/bin/sh
    echo "starting on $(hostname)" | tee /var/log/start.log
  SH
}

variable "tags" {
  type    = map(string)
  default = {}
}
