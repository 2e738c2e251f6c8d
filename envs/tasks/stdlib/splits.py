"""The families of the standard library, and the split that each belongs to; no module is in two."""

from __future__ import annotations

SPLITS: dict[str, str] = {
    "std_text": "train",
    "std_numeric": "train",
    "std_collections": "train",
    "std_formats": "train",
    "std_paths": "gate",
    "std_dates": "gate",
    "std_internet": "heldout",
    "std_arguments": "heldout",
}
"""Family to split: what may be trained on, what a cycle's gate measures, what is never touched."""
