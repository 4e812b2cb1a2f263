"""The usage builder: a form over the inputs of a module, which writes the block that calls it."""
