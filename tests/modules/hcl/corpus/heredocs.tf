variable "plain" {
  description = <<EOT
Two lines,
  the second indented.
EOT
  default     = <<EOT
variable "not_a_variable" {
  type = string
}
EOT
}

variable "flush" {
  description = <<-EOT
    Taken out of its indentation,
      but for this line.
  EOT
  type        = string
}

output "script" {
  value = <<-SH
    #!/bin/sh
    %{for name in var.names~}
    echo "${name}" # EOT
    %{endfor~}
    echo $${HOME} %%{HOME}
  SH
}

locals {
  two = join("", [<<-A
    first
  A
    , <<-B
    second
  B
  ])
}
