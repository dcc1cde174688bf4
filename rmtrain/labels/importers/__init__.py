"""Labels that people or models gave elsewhere, read from files as annotations. `importing` is the way in."""
