"""NamedValue: a value with a name, which stands in a job as ``${name}``."""

from __future__ import annotations


class NamedValue(str):
    """The placeholder of a value: a string, which also stands in place of a number, a truth value or a name."""

    def __new__(cls, name: str) -> NamedValue:
        return super().__new__(cls, f"${{{name}}}")


INSTANCE_NAME = NamedValue("instance")
"""In the name of a layer of a block: the name of the instance, which the name then does not begin with."""


def value_text(value: object) -> str:
    """A value of Python as a ``let`` has it: 64, 0.5, true, or the placeholder of another value."""
    return str(value).lower() if isinstance(value, bool) else f"{value:.9g}" if isinstance(value, float) else str(value)
