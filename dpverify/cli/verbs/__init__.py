"""One file a verb of the command line: a function that typer calls, and an example for its help."""
