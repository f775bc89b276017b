"""Compiled functions of arrays: one decision rule per file, serial, without the GIL.

`memory` runs them on threads. None names a divergence: a cost is either the squared distance or the
affine form ``constant_i + offset_k - <x_i, theta_k>``.
"""
