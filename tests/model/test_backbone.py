import shutil
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import BertModel, LlamaConfig, MistralConfig, MistralModel

from rmtrain.config.model import BackboneSettings
from rmtrain.model.backbone import Backbone, filler
from rmtrain.model.chunks import Chunk
from rmtrain.model.pretrained import load_backbone
from rmtrain.model.windows import Specials


def settings(folder: Path, **changed: object) -> BackboneSettings:
    return BackboneSettings(**{"name": str(folder), "package_path": None, **changed})  # type: ignore[arg-type]


def chunk(*lengths: int) -> Chunk:
    """Windows of these lengths, end to end."""
    ids = torch.cat([torch.arange(length) % 11 + 5 for length in lengths])
    places = torch.cat([torch.arange(length) for length in lengths])
    return Chunk(ids, places, list(lengths), None, [torch.zeros(1, length) for length in lengths])


def test_an_encoder_looks_both_ways_and_has_both_special_tokens(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    assert not found.is_causal
    assert found.specials == Specials(opening=(2,), closing=(3,))
    assert (found.hidden_size, found.max_tokens) == (32, 128)


def test_a_causal_model_is_recognised_by_trying(llama_folder: Path) -> None:
    found = load_backbone(settings(llama_folder))
    assert found.is_causal
    assert found.specials == Specials(opening=(2,), closing=())


def test_all_dropout_is_off(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    drops = [module.p for module in found.modules() if isinstance(module, nn.Dropout)]
    assert drops
    assert set(drops) == {0.0}
    found.train()
    assert torch.equal(found(chunk(4)), found(chunk(4)))


def alone(found: Backbone, made: Chunk) -> Tensor:
    """What a model gives that reads each window by itself, by transformers' own attention."""
    used = found.model.config._attn_implementation
    found.model.set_attn_implementation("sdpa")
    windows = made.token_ids.split(made.lengths)
    hidden = [found.model(input_ids=window[None]).last_hidden_state[0] for window in windows]
    found.model.set_attn_implementation(used)
    return torch.cat(hidden)


@pytest.mark.parametrize("kind", ["bert", "roberta", "llama"])
def test_windows_in_one_call_are_what_each_is_alone(
    kind: str, bert_folder: Path, roberta_folder: Path, llama_folder: Path
) -> None:
    folder = {"bert": bert_folder, "roberta": roberta_folder, "llama": llama_folder}[kind]
    found = load_backbone(settings(folder, tune="full"))
    assert found.position_offset == {"bert": 0, "roberta": 2, "llama": 0}[kind]
    made = chunk(70, 1, 64, 10)  # together more than the longest input, and 3 tokens short of a usual size
    torch.testing.assert_close(found(made), alone(found, made), atol=1e-5, rtol=1e-4)
    # and a window learns from itself alone
    embeddings = found.model.get_input_embeddings().weight
    (gradient,) = torch.autograd.grad(found(made)[:70].pow(2).sum(), embeddings)
    (expected,) = torch.autograd.grad(alone(found, made)[:70].pow(2).sum(), embeddings)
    torch.testing.assert_close(gradient, expected, atol=1e-4, rtol=1e-3)


@given(n_tokens=st.integers(1, 100_000))
def test_calls_have_few_sizes_and_little_filler(n_tokens: int) -> None:
    extra = filler(n_tokens)
    assert 0 <= 32 * extra <= n_tokens
    size = n_tokens + extra
    assert (size >> max(0, size.bit_length() - 6)).bit_length() <= 6  # at most 32 sizes from a power of 2 to the next
    assert size % (1 << max(0, n_tokens.bit_length() - 6)) == 0
    assert filler(size) == 0


@pytest.mark.parametrize("why", ["it sees only so far", "it has positions of its own"])
def test_what_cannot_read_them_in_one_call_reads_them_one_by_one(
    why: str, bert_folder: Path, llama_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "it sees only so far":
        folder = shutil.copytree(llama_folder, tmp_path / "mistral")
        config = MistralConfig(**{**LlamaConfig.from_pretrained(llama_folder).to_dict(), "sliding_window": 4})
        MistralModel(config).save_pretrained(folder)
    else:
        folder, usual = bert_folder, BertModel.forward

        def forward(self: BertModel, *args: object, position_ids: object = None, **options: object) -> object:
            return usual(self, *args, **options)

        monkeypatch.setattr(BertModel, "forward", forward)
    found = load_backbone(settings(folder))
    assert found.position_offset is None
    assert found.model.config._attn_implementation == "sdpa"
    made = chunk(12, 1, 30)
    torch.testing.assert_close(found(made), alone(found, made), atol=1e-5, rtol=1e-4)


def test_text_that_spells_a_special_token_stays_text(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    assert found.tokenise([]) == []
    ids = found.tokenise(["w1 [SEP] w2"])[0]
    assert not {2, 3}.intersection(ids)


@pytest.mark.parametrize(
    ("tune", "trained"),
    [("frozen", {False}), ("full", {True}), ("top", {True, False})],
)
def test_tune_chooses_what_is_trained(bert_folder: Path, tune: str, trained: set[bool]) -> None:
    found = load_backbone(settings(bert_folder, tune=tune, top_layers=1))
    assert {parameter.requires_grad for parameter in found.parameters()} == trained
    if tune == "top":
        assert all(
            parameter.requires_grad == ("layer.1." in name) for name, parameter in found.model.named_parameters()
        )


def test_digest_follows_the_weights(bert_folder: Path) -> None:
    found = load_backbone(settings(bert_folder))
    before = found.digest()
    assert before == load_backbone(settings(bert_folder)).digest()
    with torch.no_grad():
        next(found.parameters())[0, 0] += 1
    assert found.digest() != before
