"""Small policies that change which clusters exist."""
