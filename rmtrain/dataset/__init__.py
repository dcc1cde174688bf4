"""What the model learns from: examples with labels per head, preference pairs, and how they are batched."""
