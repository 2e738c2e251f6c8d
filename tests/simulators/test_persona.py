from dataclasses import replace

import pytest

from sim2live.errors import ConfigError
from sim2live.simulators import PERSONAS, Persona, get_persona


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strictness", 1.2),
        ("vagueness", -0.1),
        ("patience_turns", 0.0),
        ("latency_s", float("inf")),
        ("persist_delay_s", float("nan")),
        ("question_tolerance", -1.0),
        ("annoyance", float("nan")),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"`{name}`"):
        replace(PERSONAS["default"], **{name: value})


def test_unknown_persona_lists_close_names() -> None:
    with pytest.raises(ConfigError, match=r"Did you mean `hurried`"):
        get_persona("hurryed")


def test_personas_are_named_as_their_keys_and_differ() -> None:
    assert all(persona.name == name for name, persona in PERSONAS.items())
    assert {"default", "expert", "hurried", "strict", "lenient_late", "novice"} <= set(PERSONAS)
    bodies = {tuple(sorted(p.to_json().items()))[:-1] for p in PERSONAS.values()}
    assert len(bodies) == len(PERSONAS)


def test_json_round_trip() -> None:
    for persona in PERSONAS.values():
        assert Persona(**persona.to_json()) == persona


def test_the_training_simulator_is_the_easy_mode() -> None:
    easy = PERSONAS["default"]
    others = [persona for name, persona in PERSONAS.items() if name != "default"]
    assert all(easy.vagueness < other.vagueness for other in others)
    assert all(easy.reject_retry >= other.reject_retry for other in others)
    assert all(easy.patience_turns >= other.patience_turns for other in others)
