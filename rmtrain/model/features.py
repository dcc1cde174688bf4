"""Vectors of a frozen backbone, computed once and kept: training the heads is then some 400 times faster.

The cache holds one folder per way of reading (text form, backbone weights, window settings, precision)
and in it shards of vectors keyed by the text of each trajectory, so that splits and datasets share them.
"""

import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from tqdm import tqdm

from rmtrain.dataset.batching import fill
from rmtrain.dataset.examples import Example
from rmtrain.errors import ModelError
from rmtrain.model.batch import Reading, Vectors
from rmtrain.model.encoder import embed
from rmtrain.model.network import RewardNetwork
from rmtrain.model.precision import autocast
from rmtrain.model.windows import Windows
from rmtrain.trajectories.schema import digest

SHARD = 256  # trajectories a shard: what an interrupted run loses at most


@dataclass(frozen=True)
class Features:
    """Backbone vectors of examples.

    Attributes:
        vectors: for each example an array: row 0 its task prefix, then its steps.
        note: a sentence where they could not be kept, else None.
    """

    vectors: list[Vectors]
    note: str | None = None


def features(
    model: RewardNetwork,
    examples: Sequence[Example],
    windows: Sequence[Windows],
    *,
    reading: Reading,
    precision: str,
    device: torch.device,
    cache: Path | None,
    progress: bool = False,
) -> Features:
    """Backbone vectors of each example, from the cache where it has them.

    A cache that cannot be written costs time, not the run: the vectors are then computed and not kept.

    Args:
        model: whose backbone reads; it is moved to `device`.
        examples: rendered trajectories.
        windows: their windows.
        reading: how windows become backbone calls.
        precision: Lightning's name of the precision.
        device: where the backbone runs.
        cache: folder of the cache; None keeps nothing.
        progress: show a progress bar.

    Raises:
        ModelError: a shard of the cache is damaged.
    """
    folder = None if cache is None else cache / _reading_key(model, precision)
    note = None
    keys = [digest([example.prefix, *example.blocks]) for example in examples]
    found = {} if folder is None else read_shards(folder, set(keys))
    missing = {key: index for index, key in enumerate(keys) if key not in found}
    order = sorted(missing.values())
    was_training = model.training
    model.eval()
    model.backbone.to(device)
    with tqdm(total=len(order), desc="features", unit="trajectory", disable=not progress) as bar:
        for start in range(0, len(order), SHARD):
            shard: dict[str, torch.Tensor] = {}
            held = order[start : start + SHARD]
            for stretch in fill([windows[index].n_tokens for index in held], 4 * reading.chunk_tokens):
                indices = [held[place] for place in stretch]
                chunks = reading.chunks([windows[index] for index in indices])
                with torch.inference_mode(), autocast(device, precision):
                    vectors = embed(model.backbone, to_device(chunks, device)).float().cpu()
                for position, index in enumerate(indices):
                    shard[keys[index]] = vectors[position, : 1 + windows[index].n_steps].clone()
                bar.update(len(indices))
            if folder is not None and note is None:
                note = _write_shard(folder, shard)
            found |= {key: tensor.numpy() for key, tensor in shard.items()}
    model.train(was_training)
    return Features([found[key] for key in keys], note)


def to_device(batch: Any, device: torch.device) -> Any:
    """A batch with its tensors on `device`."""
    from lightning.fabric.utilities import move_data_to_device

    return move_data_to_device(batch, device)


def read_shards(folder: Path, wanted: set[str]) -> dict[str, Vectors]:
    """The wanted vectors among all shards of a folder.

    Raises:
        ModelError: a shard does not read.
    """
    found: dict[str, Vectors] = {}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="numpy") as shard:
                for key in wanted.intersection(shard.keys()):
                    found[key] = shard.get_tensor(key)
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{path} is damaged ({error}). Delete it: it will be computed again.") from error
    return found


def _write_shard(folder: Path, shard: dict[str, torch.Tensor]) -> str | None:
    """Keep vectors whole or not at all; a sentence where they cannot be kept."""
    name = uuid.uuid4().hex
    partial = folder / f".{name}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file(shard, partial)
        os.replace(partial, folder / f"{name}.safetensors")
    except (OSError, SafetensorError) as error:
        return (
            f"the backbone's vectors could not be kept in {folder.parent} "
            f"({getattr(error, 'strerror', None) or error}): another run computes them again"
        )
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return None


def _reading_key(model: RewardNetwork, precision: str) -> str:
    encoder = asdict(model.card.encoder)
    read = {key: encoder[key] for key in ("window_tokens", "prefix_tokens", "block_tokens", "causal", "markers")}
    parts = {
        "render": model.card.render_hash,
        "backbone": model.backbone.digest(),
        "encoder": read,
        "precision": precision,
        "tokenizer": model.backbone.tokenizer_digest(),
    }
    return digest(parts)[:16]
