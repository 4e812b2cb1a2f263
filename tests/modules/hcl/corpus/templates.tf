output "greeting" {
  value = "Hello, ${var.name != "" ? var.name : "you"}! %{if var.loud}!!!%{else}...%{endif}"
}

output "nested" {
  value = "${"${"deep"}"}-${join(",", [for x in ["a", "b"] : "<${x}>"])}"
}

output "escapes" {
  value = "tab\t, newline\n, quote \", backslash \\, \u00fc, \U0001f600, $${not}, %%{not}, $ % $a %b"
}

output "braces" {
  value = "}{ ][ )( \" # // /* <<EOT"
}

variable "name" { default = "" }
variable "loud" { default = false }
