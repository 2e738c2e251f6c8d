"""Which files, and which pieces of them, a request is about: BM25 over the words of code.

Words are taken from identifiers as people speak of them: `parse_ISODate` counts as itself and as
`parse`, `iso` and `date`. Ties are broken by path and line, so the order is always the same.

Reference:
    Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework: BM25 and Beyond"; scored
    with the `bm25s` package in Lucene's variant, k1 = 1.5 and b = 0.75.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from .pieces import Piece, split

_WORD = re.compile(r"\w+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def words(text: str) -> list[str]:
    """Return the words of a text in order: each in lower case, and the parts of compound ones."""
    found: list[str] = []
    for word in _WORD.findall(text):
        parts = [part.lower() for part in _PART.findall(word)] if word.isascii() else []
        whole = word.lower().strip("_")
        found += [whole] if whole else []
        found += parts if len(parts) > 1 else []
    return found


def bm25(documents: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
    """Score documents (lists of words) against a query.

    A word of the query counts once, and English function words (`bm25s`' own list) not at all.

    Returns:
        One score of 0 or more a document; 0 where they have no word in common.
    """
    import bm25s  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from bm25s.stopwords import (  # type: ignore[import-not-found, import-untyped, unused-ignore]
        STOPWORDS_EN,
    )

    vocabulary = {word for document in documents for word in document}.difference(STOPWORDS_EN)
    known = [word for word in dict.fromkeys(query) if word in vocabulary]
    if not known:
        return [0.0] * len(documents)
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    index.index([list(document) for document in documents], show_progress=False)
    return [float(score) for score in index.get_scores(known)]


def rank_files(files: Mapping[str, str], request: str) -> list[str]:
    """Sort paths by relevance to a request.

    Files that the request names (by path or by file name) come first, then the others; each group
    by the score of path and text, equal ones by path.
    """
    paths = sorted(files)
    scores = bm25([words(f"{path}\n{files[path]}") for path in paths], words(request))
    named = {path: not _is_named(path, request) for path in paths}
    score = dict(zip(paths, scores, strict=True))
    return sorted(paths, key=lambda path: (named[path], -score[path], path))


@dataclass(slots=True, frozen=True)
class Hit:
    """A piece that was found."""

    piece: Piece
    score: float


class CodeSearch:
    """Finds pieces of code by words.

    Args:
        files: path to text.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self.pieces = [piece for path in sorted(files) for piece in split(path, files[path])]
        self._documents = [words(f"{p.path}\n{p.name}\n{p.text}") for p in self.pieces]

    def score(self, query: str) -> list[float]:
        """Return the score of each of `pieces`, in their order."""
        return bm25(self._documents, words(query))

    def search(self, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the best pieces that have a word in common with the query, best first."""
        hits = [Hit(p, s) for p, s in zip(self.pieces, self.score(query), strict=True) if s > 0]
        hits.sort(key=lambda hit: (-hit.score, hit.piece.path, hit.piece.start))
        return hits[:limit]


def _is_named(path: str, request: str) -> bool:
    name = PurePosixPath(path).name
    return any(
        re.search(rf"(?<![\w.]){re.escape(text)}(?![\w])", request) for text in (path, name) if text
    )
