"""Where the values of a Mercer kernel come from: computed, or given."""
