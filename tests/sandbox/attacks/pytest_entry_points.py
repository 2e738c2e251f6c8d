"""Leaves the metadata of an installed package that names a plugin of pytest.

Contained: only pytest's own plugins are loaded, as promised.
"""

KIND = "drive"
NEEDS_PYTEST = True
UNPROTECTED = "refused"

_PLUGIN = "from attacker import got\ngot('a plugin by entry point')\n"
_METADATA = "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n"
_POINTS = "[pytest11]\nevil = evil\n[console_scripts]\npytest = evil:main\n"
_TESTS = "from attacker import tried\n\ndef test_it():\n    tried('entry points')\n"


def drive(scene):
    """Try the three forms of metadata, in the area and where packages are looked for."""
    files = {"evil.py": _PLUGIN, "test_it.py": _TESTS, "evil.egg-link": ".\n.\n"}
    for place in ("", "site-packages/", ".local/lib/python3/site-packages/"):
        files[f"{place}evil-1.0.dist-info/METADATA"] = _METADATA
        files[f"{place}evil-1.0.dist-info/entry_points.txt"] = _POINTS
        files[f"{place}evil.egg-info/PKG-INFO"] = _METADATA
        files[f"{place}evil.egg-info/entry_points.txt"] = _POINTS
    scene.pytest(files)
