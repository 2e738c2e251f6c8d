import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from sim2live.errors import ConfigError
from sim2live.simulators import (
    PERSONAS,
    Brief,
    Population,
    production_stand_in,
    simulator_population,
)
from sim2live.simulators.persona import PROBABILITIES

DAY_S = 86_400.0


def test_the_same_seed_gives_the_same_people_and_another_seed_others() -> None:
    assert production_stand_in(3).users() == production_stand_in(3).users()
    first, second = production_stand_in(3).users(), production_stand_in(4).users()
    assert all(a.persona != b.persona for a, b in zip(first, second, strict=True))


def test_a_person_does_not_depend_on_the_order_of_asking() -> None:
    population = production_stand_in(1)
    later = population.user(7)
    population.users()
    assert population.user(7) == later


def test_sampling_follows_its_generator_only() -> None:
    population = production_stand_in(1)
    draws = [
        [population.sample_user(rng).user_id for _ in range(20)]
        for rng in (np.random.default_rng(0), np.random.default_rng(0))
    ]
    assert draws[0] == draws[1]
    assert len(set(draws[0])) > 5


def test_people_have_distinct_ids_that_do_not_tell_their_persona() -> None:
    users = production_stand_in(0).users()
    assert len({user.user_id for user in users}) == len(users)
    assert not any(name in user.user_id for user in users for name in PERSONAS)


def test_shares_of_the_mixture_are_kept() -> None:
    population = Population({"expert": 3, "hurried": 1}, num_users=400)
    counts = Counter(user.persona.name for user in population.users())
    assert counts["expert"] == pytest.approx(300, abs=1)
    assert population.shares() == pytest.approx({"expert": 0.75, "hurried": 0.25}, abs=0.01)


def test_spread_is_the_sd_of_the_random_effects() -> None:
    population = Population({"expert": 1.0}, num_users=3000, spread=0.6, seed=2)
    users = population.users()
    base = PERSONAS["expert"]
    strict = np.array([user.persona.strictness for user in users])
    logits = np.log(strict / (1 - strict))
    assert logits.std() == pytest.approx(0.6, rel=0.06)
    assert logits.mean() == pytest.approx(np.log(0.95 / 0.05), abs=0.05)
    patience = np.log([user.persona.patience_turns for user in users])
    assert patience.std() == pytest.approx(0.6, rel=0.06)
    assert patience.mean() == pytest.approx(np.log(base.patience_turns), abs=0.05)
    assert abs(np.corrcoef(logits, patience)[0, 1]) < 0.08


def test_without_spread_all_of_a_persona_are_alike_and_certainties_stay() -> None:
    assert {u.persona for u in Population({"novice": 1.0}).users()} == {PERSONAS["novice"]}
    jittered = Population({"strict": 1.0}, spread=2.0, num_users=200).users()
    assert all(user.persona.strictness == 1.0 for user in jittered)
    assert all(0 <= getattr(u.persona, p) <= 1 for u in jittered for p in PROBABILITIES)


def test_who_turns_up_drifts_over_time() -> None:
    population = production_stand_in(0)
    shares = [population.shares(day * DAY_S)["hurried"] for day in (0, 10, 30)]
    assert shares[0] < shares[1] < shares[2]
    rng = np.random.default_rng(0)
    late = [population.sample_user(rng, 30 * DAY_S).persona.name for _ in range(1500)]
    assert np.mean([name == "hurried" for name in late]) == pytest.approx(shares[2], abs=0.05)


def test_drift_survives_times_since_the_epoch() -> None:
    shares = production_stand_in(0).shares(1.8e9)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_the_stand_in_says_so_and_shares_no_persona_with_the_simulator() -> None:
    population = production_stand_in(0)
    assert "stand-in" in population.label
    assert "stand-in for production" in (production_stand_in.__doc__ or "")
    assert not set(population.mixture) & set(simulator_population().mixture)


def test_the_simulator_has_one_behaviour_and_many_voices() -> None:
    population = simulator_population()
    users = population.users()
    assert {user.persona for user in users} == {PERSONAS["default"]}
    assert not population.drift
    brief = Brief(task_id="t", goal="`f` is wrong")
    assert len({user.open(brief) for user in users}) > 5


def test_save_and_load_give_the_same_people(tmp_path: Path) -> None:
    population = production_stand_in(5)
    population.save(tmp_path / "p.json")
    loaded = Population.load(tmp_path / "p.json")
    assert loaded.users() == population.users()
    assert loaded.to_json() == population.to_json()
    assert loaded.shares(5 * DAY_S) == population.shares(5 * DAY_S)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema_version": 1, "personas": 3}'])
def test_a_file_that_is_no_population_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"bad\.json"):
        Population.load(path)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    data = simulator_population().to_json() | {"schema_version": 99}
    (tmp_path / "new.json").write_text(json.dumps(data))
    with pytest.raises(ConfigError, match="schema 99"):
        Population.load(tmp_path / "new.json")


@pytest.mark.parametrize(
    ("mixture", "rest"),
    [
        ({}, {}),
        ({"default": 0.0}, {}),
        ({"default": float("nan")}, {}),
        ({"nobody": 1.0}, {}),
        ({"default": 1.0}, {"drift": {"novice": 0.1}}),
        ({"default": 1.0}, {"spread": -1.0}),
        ({"default": 1.0}, {"num_users": 0}),
        ({"default": 1.0}, {"seed": -1}),
    ],
)
def test_bad_populations_are_refused(mixture: dict[str, float], rest: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Population(mixture, **rest)  # type: ignore[arg-type]
