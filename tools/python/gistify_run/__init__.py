"""Code of gistify that runs inside the sandbox, in the process of the command."""
