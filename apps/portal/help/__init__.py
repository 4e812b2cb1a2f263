"""The pages of docs/ as help of this Larder: `manual` reads and finds them, `pages` shows them."""
