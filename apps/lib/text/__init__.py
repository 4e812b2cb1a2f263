"""Texts: differences, colours, spelling, words to search for, secrets to leave out."""
