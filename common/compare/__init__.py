"""Two recordings of a pass through any network: the first difference, and its relation."""
