"""Tests of the model of a whole survey."""
