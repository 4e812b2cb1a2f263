locals {
  sum     = 1 + 2 * 3 - 4 / 5 % 6
  compare = 1 < 2 && 2 <= 3 || 3 > 4 && 4 >= 5
  equal   = "a" == "b" || "a" != "b"
  negated = !(true && false)
  minus   = -1 - -2
  choice  = var.a ? var.b : var.c ? 1 : 2
  wrapped = (
    1
    + 2
  )
  index   = var.list[0].key["x y"].z
  numbers = [0, 1, 1.5, 100000, -3.25]
}

variable "a" { type = bool }
variable "b" { type = number }
variable "c" { type = bool }
variable "list" { type = any }
