terraform {
  required_providers {
    assert = {
      source  = "hashicorp/assert"
      version = "~> 0.14"
    }
  }
}

locals {
  checked = provider::assert::true(var.on)
  parsed  = provider::terraform::decode_tfvars("a = 1")
}

variable "on" {
  type = bool

  validation {
    condition     = provider::assert::true(var.on)
    error_message = "Must be ${"true"}."
  }
}
