"""What happened: the record of one agent episode, how it is stored and how it reads as text."""
