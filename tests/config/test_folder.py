"""The built-in configurations are found from anywhere."""

from rmtrain.config.folder import conf_folder, options


def test_the_folder_does_not_depend_on_where_the_command_is_run(tmp_path, monkeypatch):
    before = conf_folder()
    monkeypatch.chdir(tmp_path)
    assert conf_folder() == before
    assert before.is_absolute()
    assert (before / "config.yaml").is_file()


def test_options_of_a_group():
    assert {"phased", "fixed", "uncertainty"} <= set(options("schedule"))
    assert options("no_such_group") == []
