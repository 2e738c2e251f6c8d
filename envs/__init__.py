"""Gymnasium environments for coding agents: a computer and a person, in that order of ease.

    coding              what the coding environments share
    repair              sim2live/Repair-v0: multi-turn bug repair
    implement ...       sim2live/Implement-v0: a missing body, from words that may leave a choice
    refactor ...        sim2live/Refactor-v0: behaviour stays, the code is to read better
    kinds               kinds of work by name, with environment and sampler
    completion          sim2live/Completion-v0: suggest or abstain at one cursor
    completion_session  sim2live/CompletionSession-v0: many cursors, a person who can grow deaf
    replay              sim2live/Replay-v0: a logged session, teacher-forced
    episode             one session of agent, computer and person; below every coding environment
    computer            the tools and what a computer is
    sandbox_computer    a computer whose code really runs; unreliable: one that loses calls
    machines            sandboxes that several worlds take turns with
    actions, spaces     the text form of actions and the space they live in
    skill_sets          discrete actions over text for small policies, by kind of work
    skills ...          those of repair: actions, what can be known, features
    wrappers            SkillActions, Messages, ContextMessages
    context/            what a language model reads: a map of the files, a budget of tokens
    tool_errors         codes of what goes wrong with a call; error budget; recovery
    recording           RecordEpisode: finished episodes as ATIF lines
    rendering           sessions drawn for people
    sandbox/            where code runs
    tasks/              what is asked
    doubles             shipped doubles for tests and examples

`register()` makes the ids known to Gymnasium; importing `sim2live` calls it. Repeating it is
harmless. Nothing heavy is imported until an environment is made.
"""

from __future__ import annotations

IDS = {
    "sim2live/Repair-v0": "sim2live.envs.repair:RepairEnv",
    "sim2live/Implement-v0": "sim2live.envs.implement:ImplementEnv",
    "sim2live/Refactor-v0": "sim2live.envs.refactor:RefactorEnv",
    "sim2live/Completion-v0": "sim2live.envs.completion:CompletionEnv",
    "sim2live/CompletionSession-v0": "sim2live.envs.completion_session:CompletionSessionEnv",
    "sim2live/Replay-v0": "sim2live.envs.replay:ReplayEnv",
}
"""Environment id to entry point. An id gets a new version when what is learnt in it may change."""

__all__ = ["IDS", "register"]


def register() -> None:
    """Make the environment ids known to Gymnasium, once."""
    import gymnasium

    for name, entry_point in IDS.items():
        if name not in gymnasium.registry:
            gymnasium.register(id=name, entry_point=entry_point)
