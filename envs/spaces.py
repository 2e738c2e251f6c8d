"""The text space of our environments: whatever a person or a program writes, bounded in length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

from gymnasium.spaces import Text
from gymnasium.vector.utils.shared_memory import read_from_shared_memory

_LAST_BMP = 0xFFFF
_SURROGATES = range(0xD800, 0xE000)
_OUTSIDE = re.compile("[\ud800-\udfff]|[^\u0000-\uffff]")


@lru_cache(maxsize=1)
def _plane() -> Text:
    """Return one space over the whole charset, whose tables all others share."""
    # A text and not a set: the order of a set of characters may differ between processes.
    return Text(
        1, charset="".join(map(chr, (c for c in range(_LAST_BMP + 1) if c not in _SURROGATES)))
    )


class UnicodeText(Text):
    """A `gymnasium.spaces.Text` over the Basic Multilingual Plane without surrogates.

    Gymnasium's own default admits letters and digits only, which no program would fit. Characters
    beyond the plane cannot be indexed cheaply for shared memory, so observations are passed through
    `clean`, which replaces them by U+FFFD.

    Example:
        >>> space = UnicodeText(100)
        >>> "return 'café ✓'" in space
        True
    """

    def __init__(self, max_length: int, *, seed: Any = None) -> None:
        super().__init__(max_length, min_length=0, charset="a", seed=seed)
        # Sixty thousand entries take longer to index than an environment takes to build.
        for table in ("_char_set", "_char_list", "_char_index", "_char_str"):
            setattr(self, table, getattr(_plane(), table))

    def clean(self, text: str) -> str:
        """Return `text` made to fit: foreign characters replaced, the middle cut if too long."""
        text = _OUTSIDE.sub("\ufffd", text)
        if len(text) <= self.max_length:
            return text
        mark = f"\n[... {len(text) - self.max_length} characters cut ...]\n"
        if len(mark) >= self.max_length:
            return text[: self.max_length]
        keep = self.max_length - len(mark)
        return text[: keep - keep // 2] + mark + text[len(text) - keep // 2 :]

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw printable ASCII (the whole plane would be noise); masks are as in Gymnasium."""
        if mask is not None or probability is not None:
            return str(super().sample(mask, probability))
        length = int(self.np_random.integers(0, min(self.max_length, 64) + 1))
        return "".join(chr(c) for c in self.np_random.integers(32, 127, size=length))

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash(("UnicodeText", self.max_length))


class _SharedTexts(Sequence[str]):
    """Texts in shared memory, read when they are looked at.

    Gymnasium's asynchronous vector environment reads shared observations once and then expects the
    same object to show every later step, as an array over the memory does. Its own reading of a
    `Text` gives plain strings, which never change.
    """

    def __init__(self, space: UnicodeText, memory: Any, n: int) -> None:
        self._space, self._memory, self._n = space, memory, n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, index: Any) -> Any:
        return self._read()[index]

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return self._read()

    def _read(self) -> tuple[str, ...]:
        texts = _read_plain(self._space, self._memory, n=self._n)
        return tuple(str(text) for text in texts)


_read_plain = read_from_shared_memory.dispatch(Text)
read_from_shared_memory.register(UnicodeText, cast(Any, _SharedTexts))
