"""A dataset as JSON: each variable is nested by the labels of its dimensions."""

import math
from typing import Any, Final

import xarray as xr

__all__ = ["SCHEMA", "nested"]

SCHEMA: Final = "bed-evaluate/1"


def nested(found: xr.Dataset) -> dict[str, Any]:
    """Return a dataset as objects that JSON can hold.

    Args:
        found: of `bed.evaluation.evaluate`.

    Returns:
        Its attributes and `schema`, and each variable: an object by label for a dimension with
        labels, a list for one without. NaN is None, the infinities are texts.
    """
    variables = {str(name): _nested(array) for name, array in found.data_vars.items()}
    return {"schema": SCHEMA, **found.attrs, **variables}


def _nested(array: xr.DataArray) -> Any:
    if not array.ndim:
        return _plain(array.item())
    dimension = array.dims[0]
    parts = [_nested(array[place]) for place in range(array.sizes[dimension])]
    if dimension not in array.coords:
        return parts
    return dict(zip(map(str, array[dimension].values.tolist()), parts, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
