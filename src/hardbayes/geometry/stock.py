"""Former name of `hardbayes.geometry.entrywise_totals`."""

from hardbayes.geometry.entrywise_totals import EntrywiseTotals as KeepsStock

__all__ = ["KeepsStock"]
