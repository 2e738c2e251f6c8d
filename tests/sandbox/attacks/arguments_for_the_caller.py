"""Gives programs arguments and variables that a shell or a loader on the host would obey."""

KIND = "drive"
UNPROTECTED = "refused"


def drive(scene):
    """Run harmless programs with hostile words."""
    folder = scene.host.folder
    scene.lay_out()
    scene.said.append(b"attack: tried words\n")
    word = f"$(touch {folder}/planted); `touch {folder}/planted` | touch {folder}/planted"
    for argv in (["echo", word], ["echo", "--", word], [word], ["/bin/sh", "-c", "echo $X"]):
        names = ("X", "LD_PRELOAD", "PYTHONSTARTUP", "BASH_ENV", "ENV", "PYTHONHOME", "GCONV_PATH")
        result = scene.sandbox.exec(argv, env=dict.fromkeys(names, word))
        scene.said += [result.stdout, result.stderr]
    for bad in (["a\0b"], [""], ["x" * 200_000]):
        try:
            scene.sandbox.exec(bad)
        except ValueError:
            continue
