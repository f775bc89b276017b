"""Safe files for models: arrays and a JSON header, never pickle.

- `save` writes an estimator to one file, atomically.
- `load` reads it back, or raises ValueError in one sentence.

A model file holds numbers and names only, so loading one never runs code from it. Checksums detect
damage, not forgery: anyone who can write the file can choose the numbers in it.
"""

from hardbayes.persistence.model import load, save

__all__ = ["load", "save"]
