"""Where rows live and passes over them run."""

from hardbayes.executors.memory import MemoryExecutor

__all__ = ["MemoryExecutor"]
