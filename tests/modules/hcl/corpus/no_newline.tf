variable "no_newline_at_end" {
  default = 1
}