"""What the command line does, one module per command. Uses both the domain and the orchestration."""
