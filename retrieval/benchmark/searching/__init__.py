"""What a search costs, beside the bare queries that it is measured by."""
