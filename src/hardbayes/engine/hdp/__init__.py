"""The descent of the hard HDP."""
