"""Where rows live and passes over them run."""
