variables {
  name = "tools"
}

run "is_planned" {
  command = plan
}

run "is_upper" {
  assert {
    condition     = output.label == "TOOLS"
    error_message = "The label is ${output.label}, expected capital letters."
  }
}
