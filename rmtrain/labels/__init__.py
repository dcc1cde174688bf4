"""What people said: annotations as given, and the labels agreed from them."""
