variable "tabs" {
	type = object({
		a = string
	})
	default = {
		a = "x"
	}
}
