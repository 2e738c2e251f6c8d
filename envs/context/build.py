"""From files to lines within a budget of tokens: what an agent should know of the work area.

There are four levels, from coarse to fine:

    1. files      paths with their number of lines, by relevance to the request
    2. symbols    signatures of classes and functions, by relevance of their code
    3. history    what happened to the files before, newest first
    4. lines      source with line numbers, the most relevant functions first

Each level is a list in a fixed order, of which a beginning is taken, as long as fits. In the first
round the levels may fill the budget up to 25%, 60%, 70% and 100%, counted together: what a level
leaves goes to the next. In the second round what is still free is offered to all of them again, in
the same order. So a small repository is shown whole, a large one as a map.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from .history import Change
from .outline import Symbol, outline
from .pieces import Piece, split
from .search import CodeSearch, rank_files
from .tokens import CountTokens, estimate_tokens, longest_prefix

SHARES = (0.25, 0.60, 0.70, 1.0)
"""How far the levels may fill the budget in the first round."""


def build_context(
    files: Mapping[str, str],
    request: str,
    budget_tokens: int,
    *,
    count_tokens: CountTokens = estimate_tokens,
    history: Sequence[Change] = (),
) -> str:
    """Describe files for someone with a request; see the module for the rule.

    Args:
        files: path to text, as they stand.
        request: what is wanted, in words; decides the order, and nothing else.
        budget_tokens: the text never has more, as `count_tokens` counts.
        count_tokens: must be deterministic, or the text is not.
        history: changes to show, newest first.

    Returns:
        The description, "" if not even one file name fits.
    """
    if budget_tokens <= 0 or not files:
        return ""
    levels = _Levels.of(files, request, history, most=budget_tokens)
    taken = [0] * len(SHARES)
    for shares in (SHARES, (1.0,) * len(SHARES)):
        for level, share in enumerate(shares):
            limit = int(share * budget_tokens)
            fits = partial(_fits, levels, taken, level, limit, count_tokens)
            # What was taken is never given back: it was within this limit or a lower one.
            taken[level] = max(taken[level], longest_prefix(levels.sizes[level], fits))
    return levels.render(taken)


@dataclass(slots=True, frozen=True)
class _Levels:
    """The four lists, in the order in which they are taken."""

    num_lines: Mapping[str, int]
    files: list[str]
    symbols: list[tuple[str, Symbol]]
    history: Sequence[Change]
    lines: list[tuple[str, int, str]]
    """(path, line number, text)."""
    num_symbols: Mapping[str, int]

    @classmethod
    def of(
        cls, files: Mapping[str, str], request: str, history: Sequence[Change], *, most: int
    ) -> _Levels:
        """Put everything in order; `most` bounds each list: an entry costs a token or more."""
        order = rank_files(files, request)
        rank = {path: place for place, path in enumerate(order)}
        search = CodeSearch(files)
        scored = sorted(
            zip(search.score(request), search.pieces, strict=True),
            key=lambda pair: (-pair[0], rank[pair[1].path], pair[1].start),
        )
        score = {(piece.path, piece.start): value for value, piece in scored}
        symbols = [(path, symbol) for path in order for symbol in outline(path, files[path])]
        num_symbols: defaultdict[str, int] = defaultdict(int)
        for path, _ in symbols:
            num_symbols[path] += 1
        symbols.sort(
            key=lambda pair: (
                -score.get((pair[0], pair[1].line), 0.0),
                rank[pair[0]],
                pair[1].line,
            )
        )
        return cls(
            num_lines={path: sum(len(p.lines) for p in split(path, files[path])) for path in order},
            files=order[:most],
            symbols=symbols[:most],
            history=history[:most],
            lines=_lines([piece for _, piece in scored], most),
            num_symbols=num_symbols,
        )

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Number of entries of each level."""
        return len(self.files), len(self.symbols), len(self.history), len(self.lines)

    def render(self, taken: Sequence[int]) -> str:
        """Write the beginnings of the four lists; "" if nothing is taken."""
        if not any(taken):
            return ""
        parts = self._map(taken[0], taken[1])
        if taken[2]:
            parts += ["", "## History", *(str(change) for change in self.history[: taken[2]])]
        if taken[3]:
            parts += ["", "## Source", *self._source(self.lines[: taken[3]])]
        return "\n".join(parts)

    def _map(self, num_files: int, num_symbols: int) -> list[str]:
        chosen: defaultdict[str, list[Symbol]] = defaultdict(list)
        for path, symbol in self.symbols[:num_symbols]:
            chosen[path].append(symbol)
        shown = [p for i, p in enumerate(self.num_lines) if i < num_files or p in chosen]
        parts = ["## Files, most relevant first"]
        for path in shown:
            parts.append(f"{path} ({self.num_lines[path]} lines)")
            symbols = sorted(chosen[path], key=lambda symbol: symbol.line)
            parts += [f"  {'  ' * s.depth}{s.line}: {s.signature}" for s in symbols]
            if symbols and len(symbols) < self.num_symbols[path]:
                parts.append(f"  (+{self.num_symbols[path] - len(symbols)} more)")
        if len(shown) < len(self.num_lines):
            parts.append(f"(+{len(self.num_lines) - len(shown)} more files)")
        return parts

    def _source(self, lines: Sequence[tuple[str, int, str]]) -> list[str]:
        by_path: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for path, number, text in lines:
            by_path[path].append((number, text))
        parts: list[str] = []
        for path in self.num_lines:
            if path not in by_path:
                continue
            parts.append(f"### {path}")
            last = 0
            for number, text in sorted(by_path[path]):
                parts += ["..."] if number != last + 1 else []
                parts.append(f"{number}| {text}")
                last = number
        return parts


def _lines(pieces: Sequence[Piece], most: int) -> list[tuple[str, int, str]]:
    lines: list[tuple[str, int, str]] = []
    for piece in pieces:
        if len(lines) >= most:
            break
        lines += [(piece.path, piece.start + i, text) for i, text in enumerate(piece.lines)]
    return lines[:most]


def _fits(
    levels: _Levels,
    taken: Sequence[int],
    level: int,
    limit: int,
    count_tokens: CountTokens,
    number: int,
) -> bool:
    """Say whether taking `number` entries of a level stays within a limit, all levels together."""
    return count_tokens(levels.render([*taken[:level], number, *taken[level + 1 :]])) <= limit
