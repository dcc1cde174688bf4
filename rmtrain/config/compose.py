"""From the command line and conf/ to one plain dataclass: the only importer of hydra and omegaconf.

Hydra composes untyped, so that a key behind ``+`` is seen here and refused when no dataclass declares it;
then the values take the dataclass's types. Whatever Hydra or OmegaConf object to becomes one sentence.
"""

import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import Container, OmegaConf
from omegaconf.errors import (
    InterpolationResolutionError,
    OmegaConfBaseException,
    ValidationError,
)
from omegaconf.resolvers import oc

from rmtrain.config.folder import conf_folder, options
from rmtrain.config.jobs import JOBS, JobSettings
from rmtrain.config.schema import (
    docs,
    first_undeclared,
    first_ungrouped,
    in_words,
    optional_section,
    type_of,
    unknown_setting,
)
from rmtrain.errors import ConfigError, first_line, unknown

VERSION_BASE = "1.3"
NO_CORPUS = (".", "..", "train", "features", "mlartifacts", "benchmarks")
"""What stands in the folder of runs already."""


def main(run: Callable[[JobSettings, Path], None]) -> None:
    """Read the command line, compose, and call `run` with typed settings and the run folder.

    Args:
        run: does the job; called once, or once per combination under ``--multirun``. Its exceptions pass
            through unchanged.

    Raises:
        ConfigError: the command line or a configuration file asks for something that does not exist.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises what it would otherwise print before it exits

    failures: list[Exception] = []
    started = time.time_ns()

    def task(config: Container) -> None:
        folder = Path(HydraConfig.get().runtime.output_dir)
        try:
            if not failures:  # the first failure ends a sweep
                run(typed(config), folder)
        except Exception as error:
            failures.append(error)  # raised below: Hydra would print a line of its own
        finally:
            with suppress(OSError):  # a place where things are mounted cannot be removed, and the real error counts
                is_new = folder.stat().st_ctime_ns >= started  # Hydra makes it before the settings are checked
                if is_new and not any(folder.iterdir()):
                    folder.rmdir()

    with _in_one_sentence(sys.argv[1:]):
        hydra.main(version_base=VERSION_BASE, config_path=str(conf_folder()), config_name="config")(task)()
    for failure in failures:
        raise failure


def compose(overrides: Sequence[str] = ()) -> JobSettings:
    """The settings that ``python -m rmtrain OVERRIDES`` would run with; for notebooks and tests."""
    with (
        _in_one_sentence(overrides),
        hydra.initialize_config_dir(str(conf_folder()), version_base=VERSION_BASE, job_name="rmtrain"),
    ):
        return typed(hydra.compose("config", list(overrides)))


def typed(config: Container) -> JobSettings:
    """The plain dataclass of a composed configuration.

    Raises:
        ConfigError: a key is not declared, a value has the wrong type, or a required one is absent.
    """
    raw = OmegaConf.to_container(config, resolve=False)
    assert isinstance(raw, dict)  # the root of a configuration is a mapping
    job = raw.get("job")
    if job not in JOBS:
        raise ConfigError(unknown("job", job, JOBS))
    plain = {str(key): value for key, value in raw.items()}
    if undeclared := first_undeclared(plain, JOBS[job]):
        raise ConfigError(_unknown(undeclared, job))
    if ungrouped := first_ungrouped(plain, JOBS[job]):  # OmegaConf would not say where
        raise ConfigError(f"{ungrouped}={OmegaConf.select(config, ungrouped)}: expected a group of settings.")
    try:
        structured = OmegaConf.merge(OmegaConf.structured(JOBS[job]), config)
        for key in sorted(OmegaConf.missing_keys(config) | OmegaConf.missing_keys(structured)):
            raise ConfigError(_missing(key, job))
        settings = OmegaConf.to_object(structured)
    except InterpolationResolutionError as error:
        raise ConfigError(f"{_assignment(error, config)} cannot be resolved: {first_line(error)}") from None
    except ValidationError as error:
        key = str(error.full_key)
        raise ConfigError(f"{_assignment(error, config)}: expected {in_words(type_of(key, JOBS[job]))}.") from None
    assert isinstance(settings, JobSettings)
    if not re.fullmatch(r"[^/\\]+", settings.corpus) or settings.corpus in NO_CORPUS:
        raise ConfigError(
            f"corpus={settings.corpus} cannot be the name of a corpus: it becomes a folder below paths.runs, beside "
            f"{', '.join(NO_CORPUS[2:])}. Give a name without slashes"
        )
    settings.record = _record(settings, plain)
    return settings


def _record(settings: JobSettings, plain: dict[str, Any]) -> dict[str, Any]:
    """Every setting as plain data, without what the environment holds."""
    record = OmegaConf.merge(asdict(settings), plain)
    try:
        with _environment_by_name():
            resolved = OmegaConf.to_container(record, resolve=True)
    except OmegaConfBaseException:  # something is computed from a value of the environment: keep the formulas
        resolved = OmegaConf.to_container(record, resolve=False)
    assert isinstance(resolved, dict)  # as above
    return {str(key): value for key, value in resolved.items()}


def _unknown(key: str, job: str) -> str:
    sentence = unknown_setting(key, JOBS[job])
    owners = [f"job={other}" for other, settings in JOBS.items() if type_of(key, settings) is not None]
    return f"{sentence} It is a setting of {', '.join(owners)}, not of job={job}." if owners else sentence


def _refused(error: HydraException | OmegaConfBaseException, overrides: Sequence[str]) -> str | None:
    """One sentence for a setting that Hydra does not find in the configuration; None for any other complaint."""
    found = re.search(r"Could not override '([^'@]+)[^']*'(?:.*\n.*use (\+.+))?", str(error))
    job = next((text[4:] for text in reversed(overrides) if text.startswith("job=")), "train")
    if not found or job not in JOBS:
        return None
    key, addition = found[1], found[2]
    inner = str(getattr(error.__cause__, "full_key", None) or "")
    if inner.startswith(f"{key}."):  # the value is a group of settings, and this is the one that is not there
        key = inner
    if type_of(key, JOBS[job]) is None:
        return _unknown(key, job)
    section = optional_section(key, JOBS[job])
    if section and options(section) and not any(text.startswith(f"{section}=") for text in overrides):
        return (
            f"job={job} has no {section} unless one is chosen, so '{key}' cannot be set. "
            f"Choose one as well: {section}={'|'.join(options(section))}"
        )
    return f"'{key}' is not there to be changed. To add it: {shlex.quote(addition or f'+{key}=…')}"


def _refuse_nameless(overrides: Sequence[str]) -> None:
    """Refuse ``group=5``, of which Hydra says neither which group nor what it could be."""
    parser = OverridesParser.create()
    for text in overrides:
        found = re.match(r"\+{0,2}([a-z_]+)(@[^=]*)?=", text)
        known = options(found[1]) if found else []
        if not (found and known):
            continue
        with suppress(OverrideParseException):  # said better where Hydra meets it
            override = parser.parse_override(text)
            value = None if override.is_sweep_override() else override.value()
            names = value if isinstance(value, list) else [value]
            if not override.is_sweep_override() and not all(isinstance(name, str | dict) for name in names):
                raise ConfigError(f"{text}: expected a name: {', '.join(known)}.")


def _missing(key: str, job: str) -> str:
    section, _, name = key.rpartition(".")
    owner = type_of(section, JOBS[job]) if section else JOBS[job]
    meaning = docs(owner).get(name, "") if isinstance(owner, type) else ""
    return f"job={job} needs {key}=…: {meaning[:1].lower()}{meaning[1:]}"


def _assignment(error: OmegaConfBaseException, config: Container) -> str:
    """``key=value`` as received, for an error that knows its key."""
    value: Any = OmegaConf.to_container(config, resolve=False)
    for name in str(error.full_key).split("."):
        value = value.get(name) if isinstance(value, dict) else value
    return f"{error.full_key}={'null' if value is None else value}"


@contextmanager
def _environment_by_name() -> Iterator[None]:
    """Inside, ``${oc.env:NAME}`` gives the name: a value from the environment may be a secret."""
    OmegaConf.register_new_resolver("oc.env", lambda name, *_: f"<env {name}>", replace=True)
    try:
        yield
    finally:
        OmegaConf.register_new_resolver("oc.env", oc.env, replace=True)


@contextmanager
def _in_one_sentence(overrides: Sequence[str]) -> Iterator[None]:
    """Turn what Hydra and OmegaConf say about the user's input into a ConfigError."""
    _refuse_nameless(overrides)
    try:
        yield
    except MissingConfigException as error:
        group, _, option = (error.missing_cfg_file or "").rpartition("/")
        if group and error.options:
            raise ConfigError(unknown(group, option, error.options)) from None
        raise ConfigError(first_line(error)) from None
    except OverrideParseException as error:
        raise ConfigError(
            f"cannot read '{error.override}' ({first_line(error)}). Settings are given as key=value; "
            "quote a value with spaces, commas or brackets twice: 'key=\"a, b\"'"
        ) from None
    except (HydraException, OmegaConfBaseException) as error:
        if refused := _refused(error, overrides):
            raise ConfigError(refused) from None
        where = getattr(error, "full_key", None)
        raise ConfigError(f"{where}: {first_line(error)}" if where else first_line(error)) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{mark.name}:{mark.line + 1}: " if mark else ""
        raise ConfigError(f"{where}no valid YAML ({getattr(error, 'problem', None) or first_line(error)})") from None
    except OSError as error:
        raise ConfigError(f"cannot make the run folder ({error}). Choose another place: paths.runs=FOLDER") from None
    except ValueError as error:  # flags that exclude each other
        raise ConfigError(first_line(error)) from None
