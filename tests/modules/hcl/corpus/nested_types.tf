variable "services" {
  # Deep, and with remarks in it.
  type = map(object({
    image = string # what runs
    ports = optional(list(object({
      number   = number
      protocol = optional(string, "tcp") // tcp or udp
    })), [])
    /* whom it talks to */
    peers = optional(set(string), [])
    scale = optional(object({
      min = optional(number, 1)
      max = optional(number, 10)
      by  = optional(tuple([string, number]), ["cpu", 80])
    }), {})
  }))
  default = {}
}

variable "anything" {
  type    = any
  default = null
}

variable "bare" {}

variable "legacy" {
  type    = "string"
  default = "quoted, as before 0.12"
}
