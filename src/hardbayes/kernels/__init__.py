"""Compiled functions of arrays: one decision rule per file, serial, without the GIL.

Threads are the executor's business. Nothing here knows a divergence by name: a cost is either the
squared distance or the affine form ``constant_i + offset_k - <x_i, theta_k>``.
"""
