"""The one alternating loop, restarts, the solution and its status, the objective."""
