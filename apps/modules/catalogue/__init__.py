"""Read modules through the gate, and make documents of them."""
