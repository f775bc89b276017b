"""Topics of documents: the hard HDP on words."""
