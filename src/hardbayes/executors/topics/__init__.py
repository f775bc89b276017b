"""Documents and passes over them for topics; `protocol` is the contract."""
