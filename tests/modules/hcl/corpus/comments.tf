# One.
// Two.
/* Three,
   variable "no" {}
*/
variable /* odd, but allowed */ "name" {
  # type = number
  type = string // not number
  /* default = "x" */ default = "y" # "z"
} # the end

output "name" { # of the thing
  value = var.name /* as it is */
}
#
//
/**/
