"""Bare loops over arrays, plain in numpy and compiled by numba, and which of the two to use."""
