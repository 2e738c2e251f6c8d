from __future__ import annotations

import gc
import os
import warnings
from pathlib import Path

import pytest

from sim2live.envs.sandbox import process
from sim2live.envs.sandbox.process import ProcessSandbox


def test_it_warns_once_that_nothing_is_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_warned", set())
    with pytest.warns(UserWarning, match="does not contain"):
        ProcessSandbox().close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ProcessSandbox()
    assert made.is_isolated is False
    made.close()


@pytest.mark.parametrize("way", ["close", "forget"])
@pytest.mark.filterwarnings("ignore:the `process` sandbox")
def test_the_folder_goes_with_the_sandbox(way: str) -> None:
    made = ProcessSandbox()
    made.write_file("a", b"")
    folder = Path(made.exec(["pwd"]).stdout.decode().strip())
    assert os.listdir(folder) == ["a"]
    if way == "close":
        made.close()
    else:
        del made
        gc.collect()
    assert not folder.exists()
