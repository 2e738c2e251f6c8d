"""Simulated users: what a person asks for, sees, and does about it.

    Brief ──open──> request          what they know, and what of it they say at first
    UserView ──react──> reactions    what they could see, and what they do about the last turn

`base` holds the contract (`User`, `UserView`, `Brief`, `Trial`). A `ScriptedUser` follows a
`Persona`, a dozen numbers with units: `situation` boils a view down to what matters, `decision`
gives every course of action its probability, `phrases` finds the words. Because a user is a
function of persona, view and random generator, with no memory of its own, it can be put at any turn
of a recorded session: `predict` says with what probability it would react, and comparing that with
what a real person did shows how far the simulation is from life (`experiments.mismatch`).

`Population` draws people who differ and whose mix drifts. `simulator_population` is whom agents
train with; `production_stand_in` plays production where no real logs can be had, and everything
computed from it says so.
"""

from .base import Brief, Trial, User, UserView
from .decision import LABELS
from .panel import Panel
from .persona import PERSONAS, Persona, get_persona
from .population import Population, production_stand_in, simulator_population
from .predict import PredictsReactions, labels_shown, predict
from .scripted import ScriptedUser
from .situation import Situation, is_hand_in, question_of, read_view

__all__ = [
    "LABELS",
    "PERSONAS",
    "Brief",
    "Panel",
    "Persona",
    "Population",
    "PredictsReactions",
    "ScriptedUser",
    "Situation",
    "Trial",
    "User",
    "UserView",
    "get_persona",
    "is_hand_in",
    "labels_shown",
    "predict",
    "production_stand_in",
    "question_of",
    "read_view",
    "simulator_population",
]
