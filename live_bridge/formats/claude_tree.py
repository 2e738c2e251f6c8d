"""Which records of a Claude Code log belong together: main path, abandoned branches, subagents.

Records form a tree by `parentUuid`. Calls in parallel also fork it, so a fork alone says nothing: a
branch counts as abandoned where a node has two *prompts of the person* below it (records of other
kinds in between are looked through); it is the branch of the earlier prompt. Several roots are no
fork: after a compaction, a crash or a resume the parent is missing and the session goes on. Going
back to the very first prompt therefore reads as a continuation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from .base import Record

_TALK = frozenset({"user", "assistant"})


@dataclass(slots=True, kw_only=True)
class Group:
    """Records that make up one trajectory, in the order of the file."""

    key: str
    """`main`, `main/<n>` after the n-th `/clear`, `branch:<uuid>` or `agent:<id>`."""
    parent_key: str | None = None
    records: list[Record] = field(default_factory=list)
    rewound_by: Record | None = None
    """The prompt that was written instead of this branch."""

    @property
    def is_branch(self) -> bool:
        """True for an abandoned branch."""
        return self.key.startswith("branch:")

    @property
    def is_subagent(self) -> bool:
        """True for the talk of a subagent with its parent."""
        return self.key.startswith("agent:")


def group_records(
    records: list[Record],
    *,
    is_prompt: Callable[[Record], bool],
    is_clear: Callable[[Record], bool],
) -> list[Group]:
    """Sort records into groups; every record is in exactly one.

    Args:
        records: in the order of the file, duplicates dropped.
        is_prompt: says whether a record is a prompt of the person.
        is_clear: says whether a record empties the context (`/clear`).
    """
    parents = _parents(records)
    abandoned = _abandoned(records, parents, is_prompt)
    keys = _nearest(records, parents, abandoned)
    sidechain = {u for r in records if r.data.get("isSidechain") is True and (u := _uuid(r))}
    groups: dict[str, Group] = {}
    placed: dict[str, str] = {}
    current = "main"
    for record in records:
        key = _agent_key(record, parents, sidechain) or keys.get(_uuid(record) or "", "main")
        if key == "main":
            if is_clear(record) and "main" in groups:
                following = f"main/{sum(k.startswith('main') for k in groups)}"
                groups[following] = Group(key=following, parent_key=current)
                current = following
            key = current
        group = groups.setdefault(key, Group(key=key))
        if group.is_branch and group.rewound_by is None:
            group.rewound_by = abandoned[key.removeprefix("branch:")]
            above = parents.get(key.removeprefix("branch:"))
            group.parent_key = placed.get(above or "", current)
        if group.is_subagent:
            group.parent_key = "main"
        group.records.append(record)
        placed[_uuid(record) or ""] = key
    return list(groups.values())


def _uuid(record: Record) -> str | None:
    value = record.data.get("uuid")
    return value if isinstance(value, str) else None


def _parents(records: list[Record]) -> dict[str, str | None]:
    parents: dict[str, str | None] = {}
    for record in records:
        uuid = _uuid(record)
        if uuid is not None and uuid not in parents:
            parent = record.data.get("parentUuid") or record.data.get("logicalParentUuid")
            parents[uuid] = parent if isinstance(parent, str) else None
    return parents


def _abandoned(
    records: list[Record],
    parents: dict[str, str | None],
    is_prompt: Callable[[Record], bool],
) -> dict[str, Record]:
    """Map the uuid of each prompt whose branch was left to the prompt that replaced it."""
    types = {uuid: r.type for r in records if (uuid := _uuid(r)) is not None}
    by_node: dict[str, list[Record]] = {}
    for record in records:
        uuid = _uuid(record)
        if uuid is None or record.data.get("isSidechain") is True or not is_prompt(record):
            continue
        node, seen = parents.get(uuid), {uuid}
        while node is not None and node not in seen and types.get(node) not in _TALK:
            seen.add(node)
            node = parents.get(node)
        if node is not None and node in types:
            by_node.setdefault(node, []).append(record)
    abandoned: dict[str, Record] = {}
    for prompts in by_node.values():
        for prompt, successor in pairwise(prompts):
            uuid = _uuid(prompt)
            if uuid is not None and uuid != _uuid(successor):
                abandoned[uuid] = successor
    return abandoned


def _nearest(
    records: list[Record], parents: dict[str, str | None], abandoned: dict[str, Record]
) -> dict[str, str]:
    """Map each uuid to the key of the abandoned branch it lies on, or to `main`."""
    keys: dict[str, str] = {}
    for record in records:
        node, trail = _uuid(record), []
        seen: set[str] = set()
        key = "main"
        while node is not None and node not in seen:
            if node in keys:
                key = keys[node]
                break
            seen.add(node)
            trail.append(node)
            if node in abandoned:
                key = f"branch:{node}"
                break
            node = parents.get(node)
        for uuid in trail:
            keys[uuid] = key
    return keys


def _agent_key(record: Record, parents: dict[str, str | None], sidechain: set[str]) -> str | None:
    if record.data.get("isSidechain") is not True:
        return None
    agent = record.data.get("agentId")
    if isinstance(agent, str) and agent:
        return f"agent:{agent}"
    node = _uuid(record)
    root, seen = node, set[str]()
    while node is not None and node not in seen and node in sidechain:
        seen.add(node)
        root, node = node, parents.get(node)
    return f"agent:{root}"
