"""Names to things: layer types, updaters, initialisers and transports are found by the name a job gives them."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import metadata
from typing import Generic, TypeVar

from netpart.errors import ConfigError, FieldPath

FEW = 12
"""Up to this many names are listed in full; of more, the nearest alone where a page lists them."""
T = TypeVar("T")
Added = TypeVar("Added")


class Registry(Generic[T]):
    """The known things of one kind. ``noun`` says what they are in errors: ``Registry[type[Layer]]("layer type")``,
    ``source`` where there may be more of them, ``page`` where many are listed."""

    def __init__(self, noun: str, source: str = "", page: str = "") -> None:
        self.noun, self.source, self.page = noun, source, page
        self._known: dict[str, T] = {}

    def add(self, *names: str) -> Callable[[Added], Added]:
        """Returns a decorator that files its class or function under ``names`` and leaves it as it is.

        Filing the same thing twice changes nothing; raises ConfigError where a name means something else already.
        """

        def file(thing: Added) -> Added:
            for name in names:
                self._file(name, thing)  # type: ignore[arg-type]  # no bound says: a kind of T
            return thing

        return file

    def get(self, name: str, *, who: str = "", at: FieldPath | None = None) -> T:
        """Returns what is filed under ``name``.

        Raises ConfigError with the nearest names, or with all of them where they are few. ``who`` names the layer or
        field that asks, ``at`` is its path in the job.
        """
        if name in self._known:
            return self._known[name]
        raise ConfigError(
            who or self.noun, f"a known {self.noun}", repr(name) if name else "none", self._advice(name), at=at
        )

    def names(self) -> tuple[str, ...]:
        """Returns all names, sorted."""
        return tuple(sorted(self._known))

    def load_entry_points(self, group: str) -> None:
        """Files what installed packages offer under the entry-point ``group``: the entry's name is the name.

        Raises ConfigError naming the package whose entry cannot be imported or whose name is taken.
        """
        for entry in metadata.entry_points(group=group):
            try:
                thing = entry.load()
            except Exception as error:
                giver = entry.dist.name if entry.dist else group
                hint = f"mend or uninstall {giver}"
                raise ConfigError(f"{self.noun} {entry.name}", f"{entry.value} to load", repr(error), hint) from error
            self._file(entry.name, thing)

    def _file(self, name: str, thing: T) -> None:
        if self._known.setdefault(name, thing) is not thing:
            taken = f"{self._known[name]!r} and {thing!r}"
            raise ConfigError(f"{self.noun} {name}", "one thing of that name", taken, "rename one of them")

    def _advice(self, name: str) -> str:
        lowered = {known.lower(): known for known in self.names()}
        near = [lowered[close] for close in get_close_matches(name.lower(), lowered, n=3)]
        few = len(self._known) <= FEW or not self.page
        everything = f"all {len(self._known)}: {', '.join(self.names())}" if few else f"{self.page} lists them"
        return f"did you mean {' or '.join(near)}? ({everything})" if near else self.source + everything

    def __repr__(self) -> str:
        return f"Registry({self.noun}: {', '.join(self.names())})"
