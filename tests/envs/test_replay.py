"""The replay environment: what is answered, what diverges, and what the record says."""

from __future__ import annotations

import dataclasses

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

from sim2live.envs.actions import format_call
from sim2live.envs.replay import ReplayEnv, demonstration, match_turn
from sim2live.errors import ConfigError
from sim2live.trajectory import (
    ArgsState,
    EndReason,
    Message,
    Reaction,
    ReactionKind,
    RewardReport,
    Source,
    TextState,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

EDIT = format_call("edit_file", {"new": "a + b", "old": "a - b", "path": "sums.py"})


def test_is_a_clean_gymnasium_environment() -> None:
    check_env(ReplayEnv(), skip_render_check=True)


def test_goes_on_by_default_only_in_the_demonstration() -> None:
    logged = ReplayEnv([demonstration()])
    for env, is_cut in ((ReplayEnv(), False), (logged, True)):
        env.reset(seed=0)
        assert env.step("nonsense")[3] is is_cut


def test_playing_the_logged_actions_gives_the_whole_log_back() -> None:
    env = ReplayEnv()
    observation, info = env.reset(seed=1)
    assert observation == "[user] `add` returns the wrong sum. Can you fix it?"
    assert info["trajectory_id"] == "demonstration"
    observation, reward, terminated, truncated, info = env.step(env.logged_action())
    assert observation == "[t0-0] edited sums.py"
    assert (reward, terminated, truncated, info["rule"]) == (0.0, False, False, "calls")
    observation, _, terminated, truncated, info = env.step(env.logged_action())
    assert observation == "[user] Thanks, that works."  # said once, though reaction and message
    assert (terminated, truncated, info["rule"], info["coverage"]) == (True, False, "text", 1.0)
    assert info["reactions"] == ["follow_up"]
    logged = demonstration()
    assert env.trajectory.source is Source.REPLAYED
    assert env.trajectory.end is logged.end
    assert env.trajectory.reactions == logged.reactions
    assert [t.results for t in env.trajectory.turns] == [t.results for t in logged.turns]


def test_a_call_matches_whatever_the_order_of_arguments_and_the_words_around_it() -> None:
    env = ReplayEnv()
    env.reset(seed=0)
    *_, info = env.step(f"Other words. {EDIT}")
    assert info["is_match"] and info["answered_from"] == "log"


@pytest.mark.parametrize(
    "action",
    [
        "",
        "I will correct the operator.",
        format_call("edit_file", {"path": "sums.py", "old": "a - b", "new": "b + a"}),
        format_call("read_file", {"path": "sums.py"}),
        EDIT + EDIT,
        "<tool_call>{broken",
    ],
)
def test_any_other_action_diverges_and_is_kept(action: str) -> None:
    env = ReplayEnv([demonstration()])
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)
    assert (observation, reward, terminated, truncated) == ("", 0.0, False, True)
    assert info["answered_from"] == "none" and info["coverage"] == 0.0
    assert info["end"] == EndReason.DIVERGED.value == env.trajectory.end.value
    assert env.trajectory.turns[-1].extra["raw"] == action
    assert env.trajectory.reactions == []
    with pytest.raises(ConfigError, match="call `reset`"):
        env.step(action)


def test_forced_steps_walk_the_whole_log_and_count_the_matches() -> None:
    env = ReplayEnv()
    env.reset(seed=0)
    *_, truncated, info = env.step_forced("nonsense")
    assert not truncated and not info["is_match"] and info["answered_from"] == "none"
    _, _, terminated, _, info = env.step_forced("It   subtracted;\nit adds now.")
    assert terminated and info["is_match"] and info["coverage"] == 0.5
    assert env.trajectory.turns[0].extra["proposed"] == "nonsense"
    assert env.trajectory.turns[0].tool_calls == demonstration().turns[0].tool_calls


def test_on_divergence_force_makes_step_go_on() -> None:
    env = ReplayEnv(on_divergence="force")
    env.reset(seed=0)
    assert not env.step("nonsense")[3]
    with pytest.raises(ConfigError, match="truncate"):
        ReplayEnv(on_divergence="guess")


def test_text_rules() -> None:
    plain = Turn(text="All  done.\n", text_state=TextState.PRESENT)
    assert match_turn(plain, "All done.") == ("text", True)
    assert match_turn(plain, "all done.") == ("text", False)
    assert match_turn(plain, "All done." + EDIT) == ("text", False)
    assert match_turn(Turn(), "") == ("unanswerable", False)
    assert match_turn(Turn(text=" ", text_state=TextState.PRESENT), "") == ("unanswerable", False)
    quoted = Turn(text=f"Write {EDIT} to edit.", text_state=TextState.PRESENT)
    assert match_turn(quoted, f"Write {EDIT} to edit.") == ("text", True)


def test_arguments_keep_their_types_and_inner_white_space() -> None:
    turn = Turn(tool_calls=[ToolCall(id="a", name="Bash", arguments={"n": 1, "t": "a\r\n b \n"})])
    assert match_turn(turn, format_call("Bash", {"t": "a\n b", "n": 1})) == ("calls", True)
    assert match_turn(turn, format_call("Bash", {"t": "a\nb", "n": 1})) == ("calls", False)
    assert match_turn(turn, format_call("Bash", {"t": "a\n b", "n": True})) == ("calls", False)
    bad = ToolCall(id="a", name="", arguments=None, args_state=ArgsState.UNPARSED, raw="{oops")
    assert match_turn(Turn(tool_calls=[bad]), "<tool_call>{oops</tool_call>") == ("calls", True)


def _log(**rest: object) -> Trajectory:
    turn = Turn(
        observation=[Message.of("user", "go")],
        text="done",
        text_state=TextState.PRESENT,
        results=[ToolResult(call_id="x", text="output")],
        reactions=[
            Reaction(kind=ReactionKind.REJECT, turn=0, text="not this"),
            Reaction(kind=ReactionKind.UNDO, turn=0, text="reverted it hours later"),
        ],
    )
    return dataclasses.replace(
        Trajectory(id="one", task_id="t", source=Source.LIVE, turns=[turn]), **rest
    )


def test_the_observation_holds_what_was_said_and_nothing_from_later() -> None:
    env = ReplayEnv([_log()])
    env.reset(seed=0)
    observation, *_, info = env.step("done")
    assert observation == "[x] output\n[user] not this"
    assert info["reactions"] == ["reject", "undo"]


def test_a_logged_limit_truncates_and_logged_rewards_are_given() -> None:
    reward = RewardReport(total=2.5, components={"a": 2.5}, per_turn=[2.5])
    env = ReplayEnv([_log(end=EndReason.TRUNCATED_TIME, reward=reward)])
    env.reset(seed=0)
    _, value, terminated, truncated, info = env.step("done")
    assert (value, terminated, truncated) == (2.5, False, True)
    assert info["end"] == "truncated_time"


def test_copied_context_is_shown_but_not_played() -> None:
    old = Turn(
        observation=[Message.of("user", "task")],
        text="old",
        text_state=TextState.PRESENT,
        is_copied_context=True,
    )
    log = _log()
    log.turns.insert(0, old)
    env = ReplayEnv([log])
    observation, _ = env.reset(seed=0)
    assert observation == "[user] task\n[assistant] old\n[user] go"
    _, _, terminated, *_ = env.step("done")
    assert terminated


def test_a_trajectory_is_chosen_by_id_or_by_the_seed() -> None:
    logs = [dataclasses.replace(_log(), id=f"log-{i}") for i in range(8)]
    env = ReplayEnv(logs)
    _, info = env.reset(options={"trajectory_id": "log-5"})
    assert info["trajectory_id"] == "log-5"
    drawn = [env.reset(seed=seed)[1]["trajectory_id"] for seed in range(12)]
    assert drawn == [env.reset(seed=seed)[1]["trajectory_id"] for seed in range(12)]
    assert len(set(drawn)) > 2
    with pytest.raises(ConfigError, match="log-5"):
        env.reset(options={"trajectory_id": "log-55"})


def test_trajectories_without_turns_are_left_out_or_refused() -> None:
    empty = dataclasses.replace(_log(), id="empty", turns=[])
    assert list(ReplayEnv([empty, _log()]).trajectories) == ["one"]
    with pytest.raises(ConfigError, match="none of the 1 trajectories"):
        ReplayEnv([empty])


def test_vectorises() -> None:
    envs = gymnasium.vector.SyncVectorEnv([lambda: ReplayEnv([demonstration()])] * 2)
    envs.reset(seed=[0, 1])
    _, _, terminated, truncated, infos = envs.step((EDIT, "no"))
    assert list(truncated) == [False, True] and not terminated.any()
    assert list(infos["coverage"]) == [1.0, 0.0]
    envs.close()
