"""Products along the axes of a tensor against those of the whole matrix."""

import numpy as np

from deniable.inference.tensors import flat, sandwich


def test_a_sandwich_axis_by_axis_is_that_of_the_whole_weights() -> None:
    rng = np.random.default_rng(1)
    rows = [rng.normal(size=(3, 2)), rng.normal(size=(2, 4))]
    matrix = rng.normal(size=(5, 8, 8))
    over = flat(rows)
    np.testing.assert_allclose(sandwich(rows, matrix), over @ matrix @ over.T)
    np.testing.assert_allclose(sandwich(rows, matrix[0]), over @ matrix[0] @ over.T)
