"""Registry of one family of things that are chosen by name; ``netpart.families`` lists the families."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import cache, cached_property
from importlib import import_module, metadata
from typing import Any, Generic, TypeVar

from netpart.errors import ConfigError, FieldPath

FEW = 12
"""Up to this many names an error lists all; with more, and a page that lists them, it names that page instead."""
T = TypeVar("T")
Added = TypeVar("Added")


class Registry(Generic[T]):
    """The members of one family: those of netpart, those of installed packages, and those that this process adds.

    ``noun`` is the word for a member in errors: ``Registry[type[Layer]]("layer type", "netpart.layers")``. ``members``
    holds netpart's own in the form of entry points, name -> ``module:attribute``. Packages provide theirs as entry
    points of ``group``. A member is imported when it is first requested. ``source`` is a text for errors about where
    more members may come from, ``page`` the page that lists them when there are many.
    """

    def __init__(
        self, noun: str, group: str = "", members: Mapping[str, str] | None = None, source: str = "", page: str = ""
    ) -> None:
        self.noun = noun
        self.group = group
        self.source = source
        self.page = page
        self._places = dict(members or {})
        self._known: dict[str, T] = {}

    def add(self, *names: str) -> Callable[[Added], Added]:
        """Return a decorator that registers its class or function under ``names`` and returns it unchanged.

        Registering the same thing twice has no effect. Raises ConfigError if a name already stands for something else.
        """

        def file(thing: Added) -> Added:
            for name in names:
                self._file(name, thing)  # type: ignore[arg-type]  # the type system has no bound "a kind of T"
            return thing

        return file

    def get(self, name: str, *, who: str = "", at: FieldPath | None = None, also: tuple[str, ...] = ()) -> T:
        """Return the member called ``name``.

        Raises ConfigError with the nearest names, or with all names if they are few. Raises it too for a package whose
        member cannot be imported. ``who`` is the layer or field that asks, ``at`` its path in the job, ``also`` what it
        takes in place of a member.
        """
        offered = self._offered  # first, as it raises for a name that is taken twice, whatever was asked for before
        if name in self._known:
            return self._known[name]
        if name in self._places:
            return self._file(name, _import_place(self._places[name]))
        if name in offered:
            return self._file(name, self._load(offered[name]))
        got = repr(name) if name else "none"
        raise ConfigError(who or self.noun, f"a known {self.noun}", got, self._advice(name, also), at=at)

    def names(self) -> tuple[str, ...]:
        """Return all names, sorted. Raises ConfigError for a name that two packages provide."""
        return tuple(sorted({*self._known, *self._places, *self._offered}))

    def items(self) -> list[tuple[str, T]]:
        """All members by name: netpart's own in the order of their list, then the added ones, then those of packages.

        Raises ConfigError as ``get`` does.
        """
        names = dict.fromkeys((*self._places, *self._known, *self._offered))
        return [(name, self.get(name)) for name in names]

    @cached_property
    def _offered(self) -> dict[str, metadata.EntryPoint]:
        """The entry points that installed packages provide, by name. Raises ConfigError for a name that is taken."""
        found: dict[str, metadata.EntryPoint] = {}
        for entry in _entry_points().select(group=self.group) if self.group else ():
            # The same name and value twice is one package that is found on two places of sys.path: no conflict.
            if entry.name in self._places or found.setdefault(entry.name, entry).value != entry.value:
                other = self._places.get(entry.name) or found[entry.name].value
                raise self._ambiguous(entry.name, f"{other} and {entry.value}")
        return found

    def _load(self, entry: metadata.EntryPoint) -> Any:
        """Import the member that ``entry`` names."""
        try:
            return entry.load()
        except Exception as error:
            giver = (entry.dist and entry.dist.name) or entry.value.partition(":")[0]
            hint = f"repair or uninstall {giver}"
            raise ConfigError(f"{self.noun} {entry.name}", f"{entry.value} to load", repr(error), hint) from error

    def _file(self, name: str, thing: T) -> T:
        place = self._places.get(name)
        # A name of netpart's own may only be registered by the very object that its place names: compare with that.
        taken = self._known.setdefault(name, thing) if place is None else _import_place(place)
        if taken is not thing:
            raise self._ambiguous(name, f"{taken!r} and {thing!r}")
        self._known[name] = thing
        return thing

    def _ambiguous(self, name: str, both: str) -> ConfigError:
        return ConfigError(f"{self.noun} {name}", "one thing of that name", both, "rename one of them")

    def _advice(self, name: str, also: tuple[str, ...]) -> str:
        names = sorted({*self.names(), *also})
        lowered = {known.lower(): known for known in names}
        near = [lowered[close] for close in get_close_matches(name.lower(), lowered, n=3)]
        few = len(names) <= FEW or not self.page
        everything = f"all {len(names)}: {', '.join(names)}" if few else f"{self.page} lists them"
        return f"did you mean {' or '.join(near)}? ({everything})" if near else self.source + everything

    def __repr__(self) -> str:
        return f"Registry({self.noun}: {', '.join(self.names())})"


@cache
def _entry_points() -> Any:
    """The entry points of all installed packages. Reading them takes 10 ms, so they are read once."""
    return metadata.entry_points()


def _import_place(place: str) -> Any:
    """Import the attribute that ``place`` names in the form ``module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
