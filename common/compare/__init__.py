"""Two recordings of a pass through any network: where they differ first, and by what relation."""
