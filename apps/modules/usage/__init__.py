"""A module block with the inputs that somebody sets: values are read, checked against types and written as HCL."""
