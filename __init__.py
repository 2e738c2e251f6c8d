"""sim2live: does what a coding agent learned in simulation hold with real users?

    trajectory, errors, interchange    what every folder passes around, and its written form
    envs                               Gymnasium environments: a computer and a person
    simulators                         simulated users and populations
    reward_models                      what people did, as named numbers
    hack_detectors                     who games them, with evidence
    agents                             policies, the learner, the loop, sources of experience
    live_bridge                        production: logs, store, replay, the real-time cycle
    experiments                        mismatch, hack lab, demo, reports

Importing the package registers its Gymnasium environments and loads nothing heavy.
"""

from __future__ import annotations

__version__ = "0.1.0"

from .envs import register as _register

_register()
