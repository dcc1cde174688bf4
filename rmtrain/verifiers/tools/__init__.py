"""Rules about tool calls: facts of each call, and the trajectory's tool efficiency made of them."""
