"""What a language model is given to read, within a budget: a map of the files, the conversation.

    tokens          counting tokens, and the longest prefix that fits
    outline         the classes and functions of a file, with signatures
    pieces          a file cut into pieces: functions, methods, what is between
    search          BM25 over code: which files and pieces a request is about
    history         what happened to files before: commits, or the session's own edits
    build           `build_context`: from files to lines, within a budget
    compress        old tool output cut by a stated rule
    conversation    a conversation made to fit a budget

Everything but `history.git_history` is a pure function. `envs.wrappers.ContextMessages` puts the
parts together for an environment.
"""

from .build import build_context
from .compress import CompressionRule, compress
from .conversation import fit_messages
from .history import Change, git_history, session_edits
from .outline import Symbol, outline
from .pieces import Piece, split
from .search import CodeSearch, Hit, rank_files
from .tokens import CountTokens, estimate_tokens

__all__ = [
    "Change",
    "CodeSearch",
    "CompressionRule",
    "CountTokens",
    "Hit",
    "Piece",
    "Symbol",
    "build_context",
    "compress",
    "estimate_tokens",
    "fit_messages",
    "git_history",
    "outline",
    "rank_files",
    "session_edits",
    "split",
]
