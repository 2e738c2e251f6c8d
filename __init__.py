"""sim2live: does what a coding agent learned in simulation hold with real users?

Importing the package registers its Gymnasium environments and loads nothing heavy.
"""

from __future__ import annotations

__version__ = "0.1.0"
