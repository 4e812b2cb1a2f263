variable "one_line" { type = list(string) }
variable "with-dash" { default = { "quoted key" = 1, bare = 2, (upper("x")) = 3, 4 = "four" } }
variable "trailing" {
  default = [
    "a",
    "b", # the last
  ]
}
variable "empty" {
}
variable "colons" { default = { a : 1, b : "x" } }
variable "objects" {
  default = [{ a = 1 }, { a = 2 },
  { a = 3 }]
}
variable "function" {
  default = {
    a = 1
    b = [
      {}
    ], c = 3
  }
}
output "x" { value = null }
locals { x = 1 }
locals {}
