"""DP-means: clusters around centres, as many as pay for themselves."""
