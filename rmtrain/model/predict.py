"""Examples to what each head says of them, in batches, in the order given."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from numpy.typing import NDArray
from tqdm import tqdm

from rmtrain.dataset.batching import fill
from rmtrain.dataset.examples import Example
from rmtrain.errors import ConfigError
from rmtrain.model.batch import Reading, make_inputs
from rmtrain.model.encoder import embed
from rmtrain.model.features import features, to_device
from rmtrain.model.heads import class_probabilities
from rmtrain.model.network import RewardNetwork
from rmtrain.model.precision import autocast, find_device, settle
from rmtrain.model.windows import Cuts, Windows


@dataclass(frozen=True)
class Prediction:
    """What the heads say of one trajectory.

    Attributes:
        trajectory_id: identity of the trajectory.
        logits: head name to raw output: [logits], or [steps, logits] for a step head.
        values: head name to value, see `head_values`: one number, or one per step.
        probabilities: name of an ordinal head to the probability of each class: [classes] or [steps, classes].
        n_cut_tokens: tokens of its prefix and blocks that did not fit and were not read.
    """

    trajectory_id: str
    logits: dict[str, Float[NDArray[Any], "..."]]
    values: dict[str, Float[NDArray[Any], "..."]]
    probabilities: dict[str, Float[NDArray[Any], "..."]]
    n_cut_tokens: int


@dataclass(frozen=True)
class Predictions:
    """Predictions in the order of the examples, and what reading them took.

    Attributes:
        items: one per example.
        n_tokens: tokens read, special tokens and repeated prefixes included.
        cuts: what was cut to fit.
        note: a sentence where the vectors of a frozen backbone could not be kept, else None.
    """

    items: tuple[Prediction, ...]
    n_tokens: int
    cuts: Cuts
    note: str | None = None


def predict(
    model: RewardNetwork,
    examples: Sequence[Example],
    *,
    batch_tokens: int = 16384,
    chunk_tokens: int = 4096,
    precision: str = "32-true",
    device: str = "auto",
    cache: Path | None = None,
    progress: bool = False,
) -> Predictions:
    """Score examples with every head.

    Args:
        model: the reward model; it is moved to the device.
        examples: rendered trajectories; may be empty.
        batch_tokens: tokens of one batch, > 0.
        chunk_tokens: tokens of one backbone call, > 0.
        precision: auto | 32-true | bf16-mixed | 16-mixed, of the backbone; everything behind it is fp32.
        device: a torch device, or ``auto``: the first GPU, else the CPU.
        cache: folder of cached backbone vectors to read from and add to; None for none.
        progress: show a progress bar.

    Raises:
        DataError: an example has no steps.
        ConfigError: `precision` is unknown.
    """
    where = find_device("auto") if device == "auto" else torch.device(device)
    precision = settle(precision, where)
    reading = make_reading(model, chunk_tokens)
    windows = model.windows(list(examples))
    was_training = model.training
    model.eval().to(where)
    vectors = note = None
    if cache is not None:
        kept = features(
            model, examples, windows, reading=reading, precision=precision, device=where, cache=cache, progress=progress
        )
        vectors, note = kept.vectors, kept.note
    order = sorted(range(len(examples)), key=lambda index: -windows[index].n_tokens)
    found: dict[int, Prediction] = {}
    with tqdm(total=len(order), desc="predict", unit="trajectory", disable=not progress) as bar:
        for stretch in fill([windows[index].n_tokens for index in order], batch_tokens):
            indices = [order[place] for place in stretch]
            inputs = [windows[index] if vectors is None else vectors[index] for index in indices]
            batch = to_device(make_inputs(inputs, [examples[index] for index in indices], reading), where)
            with torch.inference_mode(), autocast(where, precision):
                found_vectors = embed(model.backbone, batch.chunks) if batch.vectors is None else batch.vectors
                logits = model.scorer(found_vectors, batch.step_mask)
                for position, index in enumerate(indices):
                    found[index] = _prediction(model, windows[index], logits, position)
            bar.update(len(indices))
    model.train(was_training)
    return Predictions(
        items=tuple(found[index] for index in range(len(examples))),
        n_tokens=sum(item.n_tokens for item in windows),
        cuts=sum((item.cuts for item in windows), Cuts()),
        note=note,
    )


def make_reading(model: RewardNetwork, chunk_tokens: int) -> Reading:
    """How a model's windows become backbone calls.

    Raises:
        ConfigError: `chunk_tokens` is not positive.
    """
    if chunk_tokens < 1:
        raise ConfigError(f"trainer.chunk_tokens is {chunk_tokens}. Expected a number of tokens > 0.")
    return Reading(chunk_tokens=chunk_tokens, is_causal=model.backbone.is_causal, causal=model.card.encoder.causal)


def _prediction(model: RewardNetwork, item: Windows, logits: dict[str, torch.Tensor], position: int) -> Prediction:
    kept: dict[str, NDArray[Any]] = {}
    values: dict[str, NDArray[Any]] = {}
    probabilities: dict[str, NDArray[Any]] = {}
    for name, head in model.card.heads.items():
        own = logits[name][position].float()
        if head.level == "step":
            own = own[: item.n_steps]
        kept[name] = own.cpu().numpy()
        values[name] = model.values(name, own).cpu().numpy()
        if head.objective == "ordinal":
            probabilities[name] = class_probabilities(own).cpu().numpy()
    n_cut = item.cuts.prefix_tokens + item.cuts.block_tokens
    return Prediction(item.trajectory_id, kept, values, probabilities, n_cut)
