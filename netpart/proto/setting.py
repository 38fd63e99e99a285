"""Values of Python as ``--set`` writes them, for ``Job.set``."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

from netpart.errors import ConfigError

Scalar = bool | int | float | str
"""One value of a field; the name of an enum's value is a string."""
Setting = Scalar | Sequence[Scalar] | None
"""A value, all elements of a list, or None for a field that is to be unset."""


def setting_text(path: str, value: Setting) -> str:
    """The override that sets the field ``path`` to ``value``.

    Raises TypeError for a value that no field has, ConfigError for text with a comma within a list, which would be
    several elements.
    """
    if value is None:
        return f"{path}="
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = [_element_text(path, each) for each in value]
        if broken := next((text for text in texts if "," in text), None):
            raise ConfigError(path, "elements without commas", repr(broken), f"set {path}[0], {path}[1] and so on")
        return f"{path}={','.join(texts)}"
    return f"{path}={_element_text(path, value)}"


def _element_text(path: str, value: object) -> str:
    """One value. Numbers may be NumPy's."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    raise TypeError(f"{path}: expected a number, text, True, False, a list of them, or None, got {value!r}")
