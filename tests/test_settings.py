import tempfile
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.settings import Settings


def test_folders_are_below_home_by_default():
    found = Settings.from_environment({"HOME": "/home/ada"})
    assert (found.cache, found.state) == (
        Path("/home/ada/.cache/assay"),
        Path("/home/ada/.local/state/assay"),
    )
    assert (found.offline, found.network_timeout_s) == (False, 20.0)


def test_locks_are_in_one_folder_for_all_users_of_the_machine():
    locks = {Settings.from_environment({"HOME": home}).locks for home in ("/home/ada", "/home/grace")}
    assert locks == {Path(tempfile.gettempdir(), "assay-cores")}
    assert Settings.from_environment({"HOME": "/h", "ASSAY_LOCKS": "/mine/locks"}).locks == Path(
        "/mine/locks"
    )


def test_xdg_folders_come_before_home_and_ours_before_those():
    xdg = {"HOME": "/home/ada", "XDG_CACHE_HOME": "/c", "XDG_STATE_HOME": "/s"}
    found = Settings.from_environment(xdg)
    assert (found.cache, found.state) == (Path("/c/assay"), Path("/s/assay"))
    own = {**xdg, "ASSAY_CACHE": "/mine/cache", "ASSAY_STATE": "/mine/state"}
    found = Settings.from_environment(own)
    assert (found.cache, found.state) == (Path("/mine/cache"), Path("/mine/state"))


def test_relative_folders_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = Settings.from_environment({"HOME": "/home/ada", "ASSAY_CACHE": "cache", "ASSAY_STATE": ""})
    assert (found.cache, found.state) == (tmp_path / "cache", Path("/home/ada/.local/state/assay"))


@pytest.mark.parametrize(
    ("text", "offline"),
    [("1", True), ("true", True), ("YES", True), ("on", True), ("", False), ("0", False), ("no", False)],
)
def test_offline_is_switched_on_by_a_word(text, offline):
    assert Settings.from_environment({"HOME": "/h", "ASSAY_OFFLINE": text}).offline is offline


def test_timeout_is_read_in_seconds():
    assert Settings.from_environment({"HOME": "/h", "ASSAY_NETWORK_TIMEOUT": "2.5"}).network_timeout_s == 2.5


@pytest.mark.parametrize("text", ["soon", "0", "-3", "nan", "inf"])
def test_timeout_that_is_none_is_refused(text):
    with pytest.raises(ConfigError, match=f"ASSAY_NETWORK_TIMEOUT is '{text}'. Give seconds"):
        Settings.from_environment({"HOME": "/h", "ASSAY_NETWORK_TIMEOUT": text})


def test_environment_of_the_process_is_the_default(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))
    assert Settings.from_environment().cache == tmp_path


def test_settings_never_change():
    with pytest.raises(AttributeError):
        Settings(Path("a"), Path("b")).offline = True
