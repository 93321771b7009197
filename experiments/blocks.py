"""Text files of blocks: "key: value" lines, indented lines that go on with a value, and blank lines between blocks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from cardtable.cards import parse_card

REST = "rest"  # in a list of cards: all cards that are named nowhere


@dataclass(frozen=True)
class Block:
    """One block of a file.

    Attributes:
        path: the file.
        line: number of the block's first line.
        keys: by key, the number of its line.
        fields: by key, the lines of its value: their numbers and texts, without what is blank.
    """

    path: Path
    line: int
    keys: dict[str, int]
    fields: dict[str, list[tuple[int, str]]]

    def fail(self, message: str, key: str = "", row: int = 0) -> NoReturn:
        """Raise a ValueError that names the file and a line: that of a key's row, or the block's first one."""
        rows = self.fields.get(key)
        line = rows[row][0] if rows else self.keys.get(key, self.line)
        raise ValueError(f"{self.path}:{line}: {f'{key}: ' if key else ''}{message}")

    def check_keys(self, needed: Sequence[str], allowed: Iterable[str]) -> None:
        """Raise a ValueError if a key is missing or unknown."""
        known = [*needed, *allowed]
        for key in self.fields:
            if key not in known:
                self.fail(f"there is no such key; the keys are {', '.join(known)}", key)
        for key in needed:
            if key not in self.fields:
                self.fail(f"{key!r} is missing in this position; it needs {', '.join(needed)}")

    def rows(self, key: str) -> list[list[str]]:
        """The words of a value, line by line; none if the key is not there."""
        return [text.split() for _, text in self.fields.get(key, [])]

    def text(self, key: str) -> str:
        """A value in one line; "" if the key is not there."""
        return " ".join(text for _, text in self.fields.get(key, []))

    def number(self, key: str, default: int, choices: Sequence[int]) -> int:
        """A value that is one of some numbers."""
        text = self.text(key)
        if not text:
            return default
        if not text.isdecimal() or int(text) not in choices:
            self.fail(f"must be one of {', '.join(map(str, choices))}, not {text!r}", key)
        return int(text)

    def cards(self, key: str) -> list[str]:
        """The cards of a value, and perhaps `REST`."""
        words = self.text(key).split()
        for word in words:
            self.check_card(word, key)
        return words

    def check_card(self, word: str, key: str, row: int = 0) -> None:
        """Raise a ValueError if a word is neither a card nor `REST`."""
        try:
            if word != REST:
                parse_card(word)
        except ValueError as error:
            self.fail(str(error), key, row)

    def fill(self, groups: dict[str, list[str]], pack: Sequence[str], rest: str) -> None:
        """Put all cards that are named nowhere in the place of the word `REST`.

        Args:
            groups: lists of cards by the key under which they are named; what is filled is changed in place.
            pack: all cards of the game.
            rest: the group to which the others go if no list says `REST`.
        """
        marked = [key for key, cards in groups.items() for card in cards if card == REST]
        if len(marked) > 1:
            self.fail(f"{REST!r} may stand in one list only", marked[1])
        left = list(pack)
        for key, cards in groups.items():
            for card in cards:
                if card in left:
                    left.remove(card)
                elif card != REST:
                    why = "is named too often" if card in pack else "is not in the pack"
                    self.fail(f"{card} {why}", key)
        if marked:
            cards = groups[marked[0]]
            place = cards.index(REST)
            cards[place : place + 1] = left
        elif not groups[rest]:
            groups[rest][:] = left
        elif left:
            self.fail(f"these cards are nowhere: {' '.join(left)}; write {REST!r} where they are", rest)


def read_blocks(path: Path) -> Iterator[Block]:
    """The blocks of a file. Lines that begin with "#" are comments.

    Raises:
        ValueError: if a line is malformed or a key stands twice in a block; the message names file and line.
    """
    block: Block | None = None
    key = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("#"):
            continue
        if not line.strip():
            if block is not None:
                yield block
            block = None
            continue
        block = block or Block(path, number, {}, {})
        value = line
        if not line[0].isspace():
            key, colon, value = line.partition(":")
            if not colon:
                raise ValueError(f"{path}:{number}: neither 'key: value' nor an indented line: {line!r}")
            if key in block.fields:
                raise ValueError(f"{path}:{number}: {key!r} stands twice in this position")
            block.keys[key], block.fields[key] = number, []
        elif not block.fields:
            raise ValueError(f"{path}:{number}: an indented line goes on with a value, but no key stands before it")
        if value.strip():
            block.fields[key].append((number, value.strip()))
    if block is not None:
        yield block
