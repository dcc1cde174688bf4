"""A progress bar over anything that takes long: on standard error, gone when done."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], what: str, unit: str, total: int | None = None) -> Iterator[Item]:
    """`items`, with a bar that counts them where a person is looking.

    Args:
        items: what is gone through.
        what: what is done to them.
        unit: what one of them is.
        total: how many there will be, None if unknown.
    """
    from tqdm import tqdm

    yield from tqdm(items, desc=what, unit=f" {unit}", total=total, leave=False, disable=not sys.stderr.isatty())
