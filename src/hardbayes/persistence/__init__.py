"""Safe files for models: arrays and a JSON header, never pickle.

- `model.save` writes an estimator to one file, atomically.
- `model.load` reads it back, or raises ValueError in one sentence.

A model file holds numbers and names only, so loading one never runs code from it. Checksums detect
damage, not forgery: anyone who can write the file can choose the numbers in it.
"""
