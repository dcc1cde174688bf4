"""What a model is worth: figures per head, simple models beside it, the table and the convergence figure."""
