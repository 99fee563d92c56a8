"""How notebooks show a mechanism: its name, purpose and parameters."""

import html
from dataclasses import fields
from typing import Any


class Described:
    """A dataclass that notebooks show as a table; nested mechanisms are shown inside.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> "<th>sigma</th><td>50.0</td>" in Gaussian(sigma=50.0)._repr_html_()
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        told = (type(self).__doc__ or "").strip().split("\n\n")[0]
        own: Any = self  # a dataclass
        rows = [(each.name, getattr(self, each.name)) for each in fields(own) if each.repr]
        rows = [(name, value) for name, value in rows if value is not None]
        cells = (f"<tr><th>{name}</th><td>{_cell(value)}</td></tr>" for name, value in rows)
        head = f"<b>{type(self).__name__}</b>: {html.escape(' '.join(told.split()))}"
        return f"{head}<table>{''.join(cells)}</table>"


def _cell(value: object) -> str:
    if isinstance(value, Described):
        return value._repr_html_()
    return html.escape(str(value) if isinstance(value, str) else repr(value))
