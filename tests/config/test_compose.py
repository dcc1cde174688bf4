"""From overrides to typed settings, and every way in which that is refused."""

import logging
import re
import shlex
import sys
from pathlib import Path

import pytest

from rmtrain.config.compose import compose, main
from rmtrain.config.jobs import IngestSettings, ScoreSettings, TrainSettings
from rmtrain.config.model import HeadSettings
from rmtrain.config.source import FieldSettings
from rmtrain.errors import ConfigError, RmtrainError


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs `main` as a command line would, in an empty folder; gives settings and run folders."""
    monkeypatch.chdir(tmp_path)
    root_level = logging.getLogger().level

    def run(*arguments, job=None):
        seen = []

        def page(settings, folder):
            seen.append((settings, folder))
            if job:
                job(settings, folder)

        monkeypatch.setattr(sys, "argv", ["rmtrain", *arguments])
        main(page)
        return seen

    yield run
    logging.getLogger().setLevel(root_level)


def test_nothing_given_trains_on_the_embedded_corpus():
    settings = compose()
    assert isinstance(settings, TrainSettings)
    assert (settings.job, settings.corpus, settings.dataset.path) == ("train", "embedded", None)
    assert settings.heads["step_quality"] == HeadSettings(
        "step", "ordinal", 3, ["serious error", "partly sound", "sound"], early=0.9, late=1.3
    )
    assert list(settings.heads) == ["correctness", "tool_efficiency", "step_quality", "consistency"]
    assert settings.tracking.uri == "sqlite:///runs/mlflow.db"


def test_values_take_the_declared_types():
    settings = compose(["trainer.lr_heads=1", "trainer.epochs=3", "encoder.causal=true"])
    assert isinstance(settings, TrainSettings)
    assert (settings.trainer.lr_heads, settings.trainer.epochs, settings.encoder.causal) == (1.0, 3, True)
    assert isinstance(settings.trainer.lr_heads, float)


def test_heads_are_added_and_left_out_by_name():
    settings = compose(["~heads.consistency", "+heads.safety={level: step, objective: bce}"])
    assert isinstance(settings, TrainSettings)
    assert list(settings.heads) == ["correctness", "tool_efficiency", "step_quality", "safety"]
    assert settings.heads["safety"] == HeadSettings("step", "bce")


def test_a_dataset_folder_belongs_to_the_corpus():
    settings = compose(["dataset=folder", "corpus=support"])
    assert isinstance(settings, TrainSettings)
    assert settings.dataset.path == "runs/support/build/dataset"


def test_an_optional_group():
    settings = compose(["job=score", "model=m", "source=tau_bench"])
    assert isinstance(settings, ScoreSettings)
    assert settings.source is not None
    assert settings.source.format == "tau_bench"
    without = compose(["job=score", "model=m"])
    assert isinstance(without, ScoreSettings)
    assert without.source is None


@pytest.mark.parametrize(
    "override",
    [
        "source.fields.reference=ground_truth.target",
        "+source.fields.reference=ground_truth.target",
        "source.fields={reference: ground_truth.target}",
    ],
)
@pytest.mark.parametrize("job", [["job=ingest"], ["job=score", "model=m", "source=openai"]])
def test_a_field_of_a_log_is_named_like_any_setting(job, override):
    settings = compose([*job, override])
    assert isinstance(settings, IngestSettings | ScoreSettings)
    assert settings.source is not None
    assert settings.source.fields == FieldSettings(reference="ground_truth.target")


def test_the_remedy_for_a_name_that_is_not_there_works():
    with pytest.raises(ConfigError, match=r"To add it: '\+heads\.safety=\{level: step, objective: bce\}'$") as caught:
        compose(["heads.safety={level: step, objective: bce}"])
    settings = compose(shlex.split(str(caught.value).split("To add it: ")[1]))
    assert isinstance(settings, TrainSettings)
    assert settings.heads["safety"] == HeadSettings("step", "bce")


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["trainer.epohcs=3"], r"unknown setting 'trainer.epohcs'\. Known: .* Did you mean 'trainer.epochs'\?$"),
        (["+trainer.epohcs=3"], r"unknown setting 'trainer.epohcs'\. Known: .* Did you mean 'trainer.epochs'\?$"),
        (["++trainer.epohcs=3"], r"unknown setting 'trainer.epohcs'\. Known: .* Did you mean 'trainer.epochs'\?$"),
        (["+trainr={epochs: 3}"], r"unknown setting 'trainr'\. Known: .* Did you mean 'trainer'\?$"),
        (["epochs=3"], r"unknown setting 'epochs'\. Known: .* Did you mean 'trainer.epochs'\?$"),
        (["+heads.correctness.erly=3"], r"unknown setting 'heads.correctness.erly'.* 'heads.correctness.early'\?$"),
        (
            ["job=verify", "trainer.epochs=3"],
            r"unknown setting 'trainer.epochs'.* It is a setting of job=train, job=crossvalidate, not of job=verify\.$",
        ),
        (["job=verify", "backbone=minilm"], r"unknown setting 'backbone'.* of job=train, .*not of job=verify\.$"),
        (["trainer.epochs.more=3"], r"^setting 'trainer.epochs' is a whole number and has nothing below it"),
        (["trainer.epochs.epochs=3"], r"^setting 'trainer.epochs' is a whole number and has nothing below it"),
        (["heads.correctness={erly: 3}"], r"unknown setting 'heads.correctness.erly'.* 'heads.correctness.early'\?$"),
        (["heads.safety.level=step"], r"^'heads.safety.level' is not there to .* add it: \+heads.safety.level=step$"),
        (["heads.safety.levle=x"], r"unknown setting 'heads.safety.levle'.* 'heads.safety.level'\?$"),
        (
            ["job=ingest", "source.fields.rewrad=x"],
            r"unknown setting 'source.fields.rewrad'.* Did you mean 'source.fields.reward'\?$",
        ),
        (
            ["job=ingest", "source.fields={rewrad: x}"],
            r"unknown setting 'source.fields.rewrad'.* Did you mean 'source.fields.reward'\?$",
        ),
        (
            ["job=score", "model=m", "source.path=x.jsonl"],
            r"^job=score has no source unless one is chosen, so 'source.path' .* as well: source=agent.*\|tau_bench$",
        ),
        (
            ["job=score", "model=m", "source.fields.query=x"],
            r"Choose one as well: source=agentprocessbench\|.*\|tau_bench$",
        ),
        (["job=score", "model=m", "source.psth=x"], r"unknown setting 'source.psth'.* 'source.path'\?$"),
        (["job=trian"], r"^unknown job 'trian'\. Known: build, .*, verify\. Did you mean 'train'\?$"),
        (["trainer=quik"], r"^unknown trainer 'quik'\. Known: heads, long, quick\. Did you mean 'quick'\?$"),
        (["experiment=full"], r"^unknown experiment 'full'\. Known: .*embedded_full"),
        (["trainer.epochs=abc"], r"^trainer.epochs=abc: expected a whole number\.$"),
        (["trainer.epochs=1.5"], r"^trainer.epochs=1.5: expected a whole number\.$"),
        (["trainer.epochs=null"], r"^trainer.epochs=null: expected a whole number\.$"),
        (["trainer.progress=maybe"], r"^trainer.progress=maybe: expected true or false\.$"),
        (["trainer.lr_heads=[1,2]"], r"^trainer.lr_heads=\[1, 2\]: expected a number\.$"),
        (["heads.correctness.early=x"], r"^heads.correctness.early=x: expected a number\.$"),
        (["heads.correctness=3"], r"^heads.correctness=3: expected a group of settings\.$"),
        (["job=score"], r"^job=score needs model=…: the folder a training run printed\.$"),
        (["backbone=folder"], r"^job=train needs backbone.name=…: installed package, folder or"),
        (["backbone.name=${nowhere}"], r"^backbone.name=\$\{nowhere\} cannot be resolved: .*'nowhere' not found"),
        (["backbone.name=${oc.env:RMTRAIN_ABSENT}"], r"cannot be resolved: .*'RMTRAIN_ABSENT' not found"),
        (["foo"], r"^cannot read 'foo' .*Settings are given as key=value"),
        (["trainer.epochs=[1"], r"^cannot read 'trainer.epochs=\[1'"),
        (["trainer=null"], r"^trainer=null: expected a name: heads, long, quick\.$"),
        (["trainer={epochs: x}"], r"^trainer.epochs=x: expected a whole number\.$"),
        (["corpus=../x"], r"^corpus=\.\./x cannot be the name of a corpus: .* Give a name without slashes$"),
        (["job=verify", "corpus=train"], r"^corpus=train cannot be the name of a corpus"),
        (["world=[1]"], r"^world=\[1\]: expected a name: default\.$"),
        (["job=ingest", "source.fields=5"], r"^source\.fields=5: expected a group of settings\.$"),
        (["+backbone=minilm"], r"^backbone appears more than once"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(overrides, sentence):
    with pytest.raises(ConfigError, match=sentence) as caught:
        compose(overrides)
    assert "\n" not in str(caught.value)


def test_values_from_the_environment_are_used_but_not_recorded(monkeypatch):
    monkeypatch.setenv("RMTRAIN_SECRET", "hunter2")
    settings = compose(["paths.runs=${oc.env:RMTRAIN_SECRET}", "backbone.name=${oc.env:RMTRAIN_SECRET,x}"])
    assert isinstance(settings, TrainSettings)
    assert settings.paths.runs == "hunter2"
    assert settings.record["paths"]["runs"] == "<env RMTRAIN_SECRET>"
    assert "hunter2" not in str(settings.record)
    assert settings.record["tracking"]["uri"] == "sqlite:///<env RMTRAIN_SECRET>/mlflow.db"
    again = compose(["paths.runs=${oc.env:RMTRAIN_SECRET}"])
    assert again.paths.runs == "hunter2"


def test_what_is_computed_from_the_environment_is_recorded_as_a_formula(monkeypatch):
    monkeypatch.setenv("RMTRAIN_SECRET", "hunter2")
    settings = compose(["backbone.name='${oc.decode:${oc.env:RMTRAIN_SECRET}}'"])
    assert isinstance(settings, TrainSettings)
    assert settings.backbone.name == "hunter2"
    assert settings.record["backbone"]["name"] == "${oc.decode:${oc.env:RMTRAIN_SECRET}}"


def test_the_record_holds_defaults_too():
    settings = compose(["~trainer.clip"])
    assert isinstance(settings, TrainSettings)
    assert settings.record["trainer"]["clip"] == settings.trainer.clip == 1.0


def test_the_command_gets_settings_and_a_stable_run_folder(command, tmp_path):
    ((settings, folder),) = command("job=verify", "corpus=support")
    assert settings.corpus == "support"
    assert folder == tmp_path / "runs/support/verify"
    ((_, elsewhere),) = command("job=verify", "hydra.run.dir=other")
    assert elsewhere == tmp_path / "other"


def test_each_training_run_has_a_folder_of_its_own(command, tmp_path):
    ((_, folder),) = command()
    assert folder.parent == tmp_path / "runs/train"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d-\d{6}", folder.name)


def test_the_working_folder_stays(command, tmp_path):
    places = []
    command("job=verify", job=lambda settings, folder: places.append(Path.cwd()))
    assert places == [tmp_path]


def test_a_refusal_leaves_no_empty_folder(command, tmp_path):
    with pytest.raises(ConfigError, match="epochs"):
        command("+trainer.epohcs=3")
    assert not list(tmp_path.glob("runs/embedded/train/*"))


def test_a_sweep_runs_every_combination(command, capsys):
    seen = command("--multirun", "trainer.seed=0,1", "trainer=quick,long")
    assert [(settings.trainer.seed, settings.trainer.epochs) for settings, _ in seen] == [
        (0, 2),
        (0, 10),
        (1, 2),
        (1, 10),
    ]
    assert [folder.name for _, folder in seen] == ["0", "1", "2", "3"]


def test_a_failure_ends_a_sweep_and_passes_through_unchanged(command, capfd):
    raised = RmtrainError("no such thing")

    def fail(settings, folder):
        raise raised

    with pytest.raises(RmtrainError) as caught:
        command("--multirun", "trainer.seed=0,1", job=fail)
    assert caught.value is raised
    assert capfd.readouterr() == ("", "")


def test_a_bug_is_not_taken_for_a_mistake_of_the_user(command):
    def fail(settings, folder):
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        command("job=verify", job=fail)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--cfg", "job", "--multirun"], "Only one of --run, --multirun, --cfg"),
        (["--config-dir", "nowhere"], r"Additional config directory '.*nowhere' not found"),
        (["--config-name", "nothing"], "Cannot find primary config 'nothing'"),
        (["corpus=${nothing}"], "Interpolation key 'nothing' not found"),
    ],
)
def test_flags_that_cannot_be_are_refused_in_one_sentence(command, arguments, sentence):
    with pytest.raises(ConfigError, match=sentence) as caught:
        command(*arguments)
    assert "\n" not in str(caught.value)


def test_own_configurations_lie_beside_the_built_in_ones(command, tmp_path):
    (tmp_path / "own/trainer").mkdir(parents=True)
    (tmp_path / "own/trainer/tiny.yaml").write_text("epochs: 1\n")
    ((settings, _),) = command("--config-dir", "own", "trainer=tiny")
    assert settings.trainer.epochs == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("epochs: [1\n", r"own/trainer/tiny\.yaml:2: no valid YAML \(expected ',' or ']'"),
        ("epochs: 1\nepochs: 2\n", r"own/trainer/tiny\.yaml:2: no valid YAML \(found duplicate key epochs\)$"),
        ("- 1\n", r"^trainer=\[1\]: expected a group of settings\.$"),
        ("epochs: 1\nepohcs: 2\n", r"unknown setting 'trainer.epohcs'"),
    ],
)
def test_a_faulty_file_is_named(command, tmp_path, text, sentence):
    (tmp_path / "own/trainer").mkdir(parents=True)
    (tmp_path / "own/trainer/tiny.yaml").write_text(text)
    with pytest.raises(ConfigError, match=sentence) as caught:
        command("--config-dir", "own", "trainer=tiny")
    assert "\n" not in str(caught.value)


def test_a_run_folder_that_cannot_be_made(command, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(ConfigError, match=r"cannot make the run folder .*paths\.runs=FOLDER$"):
        command("job=verify", "paths.runs=taken")


def test_show_configuration(command, capsys):
    assert command("job=verify", "--cfg", "job") == []
    assert "trajectories: null" in capsys.readouterr().out


def test_the_real_error_counts_where_the_folder_cannot_be_removed(command, monkeypatch):
    def refused(self):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "rmdir", refused)
    with pytest.raises(ConfigError, match=r"world\.n_tasks=x: expected a whole number"):
        command("job=simulate", "world.n_tasks=x", "hydra.run.dir=mounted")


def test_a_folder_that_was_there_stays(command, tmp_path):
    (tmp_path / "mine").mkdir()
    with pytest.raises(ConfigError):
        command("job=simulate", "world.n_tasks=x", "hydra.run.dir=mine")
    assert (tmp_path / "mine").is_dir()


def test_two_sweeps_in_one_second_stay_apart(command):
    folders = [command("--multirun", "job=verify", "corpus=a,b")[0][1].parent for _ in range(2)]
    assert folders[0] != folders[1]
