"""Where a model computes and in which precision: `auto` is bf16 where the hardware multiplies it, else fp32."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from rmtrain.errors import ConfigError, unknown

AUTO = "auto"
ACCELERATORS = ("auto", "cpu", "gpu", "cuda", "mps")
PRECISIONS = {"32-true": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
"""Lightning's names, and the type that autocast computes in."""


def settle(precision: str, device: torch.device) -> str:
    """The precision that is meant.

    Args:
        precision: `auto` or one of `PRECISIONS`.
        device: where it is computed.

    Raises:
        ConfigError: it is unknown.
    """
    if precision == AUTO:
        return "bf16-mixed" if multiplies_bf16(device) else "32-true"
    if precision not in PRECISIONS:
        raise ConfigError(unknown("precision", precision, [AUTO, *PRECISIONS]))
    return precision


def multiplies_bf16(device: torch.device) -> bool:
    """Whether the device has instructions for bf16 products: without them a CPU is slower in bf16 than in fp32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return False


def find_device(accelerator: str) -> torch.device:
    """The device of an accelerator; ``auto`` is the first CUDA GPU where there is one, else the CPU.

    Args:
        accelerator: one of `ACCELERATORS`.

    Raises:
        ConfigError: it is unknown, or this machine has none.
    """
    if accelerator not in ACCELERATORS:
        raise ConfigError(unknown("accelerator", accelerator, ACCELERATORS))
    if accelerator in ("auto", "cpu"):
        return torch.device("cuda" if accelerator == "auto" and torch.cuda.is_available() else "cpu")
    if accelerator != "mps" and torch.cuda.is_available():
        return torch.device("cuda")
    if accelerator != "cuda" and torch.backends.mps.is_available():
        return torch.device("mps")
    raise ConfigError(
        f"accelerator {accelerator} is not available: torch finds no such device here. "
        "Set trainer.accelerator to auto or cpu, or install a torch that knows it."
    )


def autocast(device: torch.device, precision: str) -> AbstractContextManager[Any]:
    """The autocast of a settled precision; fp32 runs as it is."""
    dtype = PRECISIONS[precision]
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)
