"""A tiny event bus: who cares about what happens in the larder."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Callable, DefaultDict, List


@dataclass(frozen=True)
class Event:
    """Something that happened to an item."""

    topic: str
    item: str
    amount: float = 0.0


Listener = Callable[[Event], None]


class Bus:
    """Hands every published event to the listeners of its topic."""

    def __init__(self) -> None:
        self._listeners: DefaultDict[str, List[Listener]] = defaultdict(list)
        self.published = 0

    def subscribe(self, topic: str, listener: Listener) -> None:
        self._listeners[topic].append(listener)

    def publish(self, event: Event) -> int:
        """Calls the listeners in order of subscription; returns how many there were."""
        listeners = self._listeners[event.topic]
        for listener in listeners:
            listener(event)
        self.published += 1
        return len(listeners)


class Journal:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.entries: List[Event] = []

    def __call__(self, event: Event) -> None:
        self.entries.append(event)

    def about(self, item: str) -> List[Event]:
        return [entry for entry in self.entries if entry.item == item]
