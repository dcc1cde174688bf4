"""The pretrained model that reads windows, and what is found out about it by trying: how far it sees, where it begins.

All dropout is off: on a CPU it costs more than half the speed, and cached features would not be
reproducible with it.
"""

import hashlib
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from rmtrain.errors import ConfigError, ModelError, unknown
from rmtrain.model import attention
from rmtrain.model.chunks import Chunk
from rmtrain.model.windows import Specials

TUNES = ("frozen", "top", "full")


class Backbone(nn.Module):
    """A pretrained encoder or causal model with its tokenizer.

    Args:
        model: a transformers model that gives `last_hidden_state`.
        tokenizer: its tokenizer.
        name: what it was loaded as.

    Attributes:
        is_causal: True where a token does not see those after it (found by trying).
        position_offset: position of a window's first token where many windows go into one call; None where
            this model reads them one by one (found by trying).
        hidden_size: length of its vectors.
        max_tokens: longest input, None where it has no limit.
        specials: what every window begins and ends with.
    """

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        super().__init__()
        if getattr(model.config, "is_encoder_decoder", False):
            raise ModelError(f"backbone '{name}' is an encoder-decoder. Expected an encoder or a causal model.")
        if getattr(model, "pooler", None) is not None:
            model.pooler = None  # never used, and parameters without gradients confuse distributed training
        for module in model.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        model.config.use_cache = False
        self.model = model
        self.tokenizer = tokenizer
        self.name = name
        self.hidden_size = int(model.config.hidden_size)
        self.max_tokens = _max_tokens(model.config, tokenizer)
        self.specials = _specials(tokenizer, name)
        self.is_causal = not _looks_ahead(model)
        self.position_offset = _packed_offset(model, self.max_tokens)
        self.tune = "full"

    def forward(self, chunk: Chunk) -> Float[Tensor, "tokens dim"]:
        """Vectors of all tokens of a chunk."""
        if self.position_offset is not None:
            n = len(chunk.token_ids)
            extra = filler(n)
            masks = chunk.sees
            if masks is not None and extra:
                masks = [*masks, masks[0].new_ones(extra, extra)]
            found: Tensor = self.model(
                input_ids=functional.pad(chunk.token_ids, (0, extra))[None],
                position_ids=functional.pad(chunk.positions, (0, extra))[None] + self.position_offset,
                window_lengths=[*chunk.lengths, extra] if extra else chunk.lengths,
                window_masks=masks,
            ).last_hidden_state[0]
            return found[:n]
        windows = torch.split(chunk.token_ids, chunk.lengths)
        shaped = [None] * len(windows) if chunk.sees is None else [mask[None, None] for mask in chunk.sees]
        return torch.cat(
            [
                self.model(input_ids=window[None], attention_mask=mask).last_hidden_state[0]
                for window, mask in zip(windows, shaped, strict=True)
            ]
        )

    def tokenise(self, texts: list[str]) -> list[list[int]]:
        """Token ids of each text, without special tokens; text that spells one is read as plain text."""
        if not texts:
            return []
        ids: list[list[int]] = self.tokenizer(
            texts,
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]
        return ids

    def set_tune(self, tune: str, top_layers: int) -> None:
        """Choose which parameters are trained.

        Args:
            tune: ``frozen`` none, ``top`` those of the last `top_layers` layers, ``full`` all.
            top_layers: number of layers counted from the output, for ``top``.

        Raises:
            ConfigError: an unknown value, or more layers than there are.
        """
        if tune not in TUNES:
            raise ConfigError(unknown("backbone tune", tune, TUNES))
        self.tune = tune
        self.model.requires_grad_(tune == "full")
        if tune == "top":
            lists = [module for module in self.model.modules() if isinstance(module, nn.ModuleList)]
            layers = max(lists, key=len, default=nn.ModuleList())
            if not 1 <= top_layers <= len(layers):
                raise ConfigError(
                    f"backbone.top_layers is {top_layers}, but '{self.name}' has {len(layers)} layers. "
                    f"Expected 1 to {len(layers)}; to train everything set backbone.tune=full."
                )
            for layer in layers[len(layers) - top_layers :]:
                layer.requires_grad_(True)

    def digest(self) -> str:
        """SHA-256 over names and bytes of the weights as they are now."""
        found = hashlib.sha256()
        for name, tensor in sorted(self.model.state_dict().items()):
            found.update(name.encode())
            found.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return found.hexdigest()

    def tokenizer_digest(self) -> str:
        """SHA-256 of the tokenizer's own description."""
        return hashlib.sha256(self.tokenizer.backend_tokenizer.to_str().encode()).hexdigest()


def filler(n_tokens: int) -> int:
    """Tokens to add to a call so that calls have few different sizes, at most 1/32 of it.

    Memory that is asked for in ever new sizes falls to pieces: without this a CPU run held nearly twice the memory
    after eighty steps and was a quarter slower.

    Args:
        n_tokens: tokens of the call, >= 1.
    """
    return -n_tokens % (1 << max(0, n_tokens.bit_length() - 6))


def _max_tokens(config: Any, tokenizer: Any) -> int | None:
    positions = getattr(config, "max_position_embeddings", None)
    if positions is not None and "roberta" in config.model_type:
        positions -= config.pad_token_id + 1  # its positions start after the padding id
    limits = [limit for limit in (positions, tokenizer.model_max_length) if limit is not None and 0 < limit < 10**9]
    return min(limits, default=None)


def _specials(tokenizer: Any, name: str) -> Specials:
    plain = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    for start in range(len(whole) - len(plain) + 1):
        if whole[start : start + len(plain)] == plain:
            opening, closing = tuple(whole[:start]), tuple(whole[start + len(plain) :])
            break
    else:
        raise ModelError(f"the tokenizer of backbone '{name}' does not add special tokens around a text. Use another.")
    return Specials(opening=opening, closing=closing)


def _looks_ahead(model: Any) -> bool:
    was_training = model.training
    model.eval()
    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 7, 9]]) % model.config.vocab_size
    with torch.no_grad():
        hidden = model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state
    model.train(was_training)
    return bool((hidden[0, 0] - hidden[1, 0]).abs().max() > 1e-6)


def _packed_offset(model: Any, max_tokens: int | None) -> int | None:
    """First position at which windows end to end give what each gives alone; None where none does."""
    usual = model.config._attn_implementation
    if usual != "sdpa":
        return None
    was_training = model.training
    model.eval()
    # together longer than the longest input, where that is cheap: a limit on positions is not one on tokens
    n = max_tokens // 2 + 1 if max_tokens is not None and 6 <= max_tokens <= 1024 else 6
    windows = [(torch.arange(length) % 50 + 7) % model.config.vocab_size for length in (n, n - 2)]
    positions = torch.cat([torch.arange(len(window)) for window in windows])[None]
    lengths = [len(window) for window in windows]
    padding = getattr(model.config, "pad_token_id", None) or 0
    found = None
    with torch.no_grad():
        alone = torch.cat([model(input_ids=window[None]).last_hidden_state[0] for window in windows])
        for offset in (0, padding + 1):  # RoBERTa's positions start after its padding id
            try:
                model.set_attn_implementation(attention.NAME)
                together = model(
                    input_ids=torch.cat(windows)[None], position_ids=positions + offset, window_lengths=lengths
                ).last_hidden_state[0]
            except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
                continue
            if torch.allclose(together, alone, atol=1e-4, rtol=1e-3):
                found = offset
                break
    if found is None:
        model.set_attn_implementation(usual)
    model.train(was_training)
    return found
