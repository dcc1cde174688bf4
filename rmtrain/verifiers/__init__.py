"""What rules can tell about a trajectory without asking anybody."""
