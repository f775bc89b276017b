"""What all models share: the loop, rows, divergences, validation, compiling."""
