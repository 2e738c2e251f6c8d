"""Messages that a person queued while Claude Code was at work: which record tells of which act.

One queued message may leave an enqueue record, a remove record, an attachment that hands it to the
model in the middle of a run, and a `user` line that delivers it as the next prompt. Each message is
taken once: from the `user` line if there is one, else from the attachment, else from the queue.
"""

from __future__ import annotations

from dataclasses import dataclass

from .base import Record
from .claude_lines import split_injected


@dataclass(slots=True, kw_only=True, frozen=True)
class Queued:
    """What to do with one queue record or attachment."""

    action: str
    """`steer`, `inject` or `aside`."""
    text: str = ""
    reason: str = ""
    is_delivered: bool = False


def plan_queue(records: list[Record], prompts: list[tuple[int, str]]) -> dict[int, Queued]:
    """Decide about every queue record and queued-command attachment.

    Args:
        records: all records, in the order of the file.
        prompts: position in `records` and text of each prompt of the person.

    Returns:
        The decision by position in `records`.
    """
    plan: dict[int, Queued] = {}
    unused: dict[str, list[int]] = {}
    for at, prompt in reversed(prompts):
        unused.setdefault(prompt.strip(), []).append(at)  # the earliest last
    attached = {text.strip() for record in records if (text := attachment_text(record)) is not None}
    withdrawn = {
        _content(record)
        for record in records
        if record.type == "queue-operation" and record.data.get("operation") == "popAll"
    }
    steered: set[str] = set()
    for position, record in enumerate(records):
        text = attachment_text(record)
        if text is not None:
            plan[position] = _attachment(text)
        elif record.type == "queue-operation":
            plan[position] = _queue_record(record, position, attached, withdrawn, steered, unused)
    return plan


def attachment_text(record: Record) -> str | None:
    """Return the text of a queued-command attachment, None for any other record."""
    attachment = record.data.get("attachment")
    if record.type != "attachment" or not isinstance(attachment, dict):
        return None
    prompt = attachment.get("prompt")
    if attachment.get("type") != "queued_command" or not isinstance(prompt, str):
        return None
    return prompt if prompt.strip() else None


def _attachment(text: str) -> Queued:
    if not split_injected(text)[0].strip():
        return Queued(action="inject", text=text, reason="notification")
    return Queued(action="steer", text=text, is_delivered=True)


def _content(record: Record) -> str:
    content = record.data.get("content")
    return content.strip() if isinstance(content, str) else ""


def _queue_record(
    record: Record,
    position: int,
    attached: set[str],
    withdrawn: set[str],
    steered: set[str],
    unused: dict[str, list[int]],
) -> Queued:
    text = _content(record)
    operation = record.data.get("operation")
    if not text or operation not in ("enqueue", "remove"):
        return Queued(action="aside", reason="bookkeeping")
    if text in attached or text in steered:
        return Queued(action="aside", reason="queue_record_of_a_steer")
    if not split_injected(text)[0].strip():
        return Queued(action="aside", reason="queue_record_of_injected_text")
    later = unused.get(text, [])
    while later and later[-1] <= position:
        later.pop()
    if later:
        later.pop()
        return Queued(action="aside", reason="queue_record_of_a_prompt")
    if text in withdrawn:
        return Queued(action="aside", reason="queue_record_withdrawn")
    steered.add(text)
    return Queued(action="steer", text=text)
