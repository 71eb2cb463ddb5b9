"""Engines that run tasks on several machines, Dask and Spark, behind one small contract."""
