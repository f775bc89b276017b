"""The automatic penalty of graphs: which partition, and whether there is one."""
