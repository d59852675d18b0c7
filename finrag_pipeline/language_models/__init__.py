"""Language models: one protocol, endpoints and local models behind it, completions kept in the lake."""
