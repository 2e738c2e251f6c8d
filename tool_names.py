"""What agents call their tools, in lower case: this project's own and those whose logs are read.

One table for rewards and detectors alike: a tool that only one of them knew would be a place where
work pays and nobody looks.
"""

from __future__ import annotations

REPLACE_TOOLS = frozenset({"edit_file", "edit", "multiedit", "replace", "notebookedit"})
"""Put new text in the place of old text."""

WRITE_TOOLS = frozenset({"write_file", "write", "create_file"})
"""Write a file as a whole."""

EDITOR_TOOLS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "file_editor"})
"""Do either, or only read, as an argument `command` says."""

PATCH_TOOLS = frozenset({"apply_patch"})
"""Apply a patch to any number of files."""

EDIT_TOOLS = REPLACE_TOOLS | WRITE_TOOLS | EDITOR_TOOLS | PATCH_TOOLS
"""Change files."""

SHELL_TOOLS = frozenset(
    {
        "run",
        "bash",
        "shell",
        "exec_command",
        "execute_bash",
        "run_shell_command",
        "local_shell",
        "terminal",
    }
)
"""Run a command line."""

ASK_TOOLS = frozenset({"ask_user", "askuserquestion"})
"""Put a question to the person."""
