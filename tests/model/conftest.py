"""Tiny backbones, a tokenizer of whole words, and examples whose labels can be read off their words."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import settings
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
)

from rmtrain.config.model import (
    BackboneSettings,
    EncoderSettings,
    HeadSettings,
    ScheduleSettings,
    TrainerSettings,
)
from rmtrain.dataset.examples import Example, Pair
from rmtrain.model.network import RewardNetwork, new_model
from rmtrain.model.train import LabelledSet

settings.register_profile("no_deadline", deadline=None)  # a busy machine is no bug
settings.load_profile("no_deadline")

WORDS = ["task", "good", "fair", "bad", *(f"w{i}" for i in range(60))]
QUALITY = ("bad", "fair", "good")

HEADS = {
    "correctness": HeadSettings(),
    "step_quality": HeadSettings(level="step", objective="ordinal", classes=3),
    "consistency": HeadSettings(objective="bradley_terry"),
}


def _tokenizer(opening: str, closing: str | None) -> PreTrainedTokenizerFast:
    specials = ["[PAD]", "[UNK]", opening, *([closing] if closing else [])]
    vocabulary = {word: index for index, word in enumerate([*specials, *WORDS, "[", "]", "CLS", "SEP"])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{opening} $A {closing or ''}".strip(),
        special_tokens=[(name, vocabulary[name]) for name in (opening, closing) if name],
    )
    names = {"cls_token": opening, "sep_token": closing} if closing else {"bos_token": opening}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", pad_token="[PAD]", model_max_length=128, **names
    )


def _saved(folder: Path, model: type, config: type, tokenizer: PreTrainedTokenizerFast, **options: int) -> Path:
    """A random model of two layers, saved as transformers saves one."""
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": 128,
        "initializer_range": 0.2,
    }
    torch.manual_seed(0)
    model(config(**shape | options)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder."""
    return _saved(tmp_path_factory.mktemp("bert"), BertModel, BertConfig, _tokenizer("[CLS]", "[SEP]"))


@pytest.fixture(scope="session")
def roberta_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder whose positions start after its padding id."""
    options = {"max_position_embeddings": 130, "pad_token_id": 1}
    folder = tmp_path_factory.mktemp("roberta")
    return _saved(folder, RobertaModel, RobertaConfig, _tokenizer("[CLS]", "[SEP]"), **options)


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A causal model, without a closing token."""
    return _saved(tmp_path_factory.mktemp("llama"), LlamaModel, LlamaConfig, _tokenizer("<s>", None))


@pytest.fixture
def encoder() -> EncoderSettings:
    return EncoderSettings(window_tokens=64, prefix_tokens=12, block_tokens=30, layers=1, attention_heads=4)


@pytest.fixture
def trainer() -> TrainerSettings:
    return TrainerSettings(
        epochs=3,
        batch_tokens=300,
        chunk_tokens=256,
        precision="32-true",
        accelerator="cpu",
        progress=False,
        lr_heads=3e-3,
        lr_backbone=1e-3,
    )


@pytest.fixture
def build(bert_folder: Path, encoder: EncoderSettings) -> Callable[..., RewardNetwork]:
    """A new model: `build(tune=…, heads=…, folder=…, encoder=…, schedule=…)`."""

    def new(
        tune: str = "frozen",
        heads: dict[str, HeadSettings] | None = None,
        folder: Path | None = None,
        encoder: EncoderSettings = encoder,
        schedule: ScheduleSettings | None = None,
    ) -> RewardNetwork:
        backbone = BackboneSettings(name=str(folder or bert_folder), package_path=None, tune=tune, top_layers=1)
        return new_model(backbone, encoder, heads or HEADS, schedule or ScheduleSettings())

    return new


def _example(number: int, random: Random, tasks: int) -> Example:
    qualities = [random.randrange(3) for _ in range(random.randint(1, 6))]
    blocks = tuple(
        " ".join([QUALITY[q], *(f"w{random.randrange(60)}" for _ in range(random.randint(1, 20)))]) for q in qualities
    )
    return Example(
        trajectory_id=f"t{number}",
        task_id=f"task{number % tasks}",
        prefix="task " + " ".join(f"w{random.randrange(60)}" for _ in range(8)),
        blocks=blocks,
        trajectory_labels={"correctness": sum(qualities) / 2 / len(qualities) if number % 5 else None},
        step_labels={
            "step_quality": tuple(
                None if random.random() < 0.2 else tuple(float(k == q) for k in range(3)) for q in qualities
            )
        },
    )


def _preferred(a: Example, b: Example) -> float:
    goods = [sum("good" in block for block in example.blocks) for example in (a, b)]
    return 0.5 if goods[0] == goods[1] else float(goods[0] > goods[1])


@pytest.fixture
def labelled() -> Callable[..., LabelledSet]:
    """`labelled(n, seed)`: n examples of n/3 tasks; every two of one task are a pair."""

    def make(n: int = 12, seed: int = 0) -> LabelledSet:
        random = Random(seed)
        tasks = max(n // 3, 1)
        examples = [_example(number, random, tasks) for number in range(n)]
        pairs = [
            Pair("consistency", a.trajectory_id, b.trajectory_id, _preferred(a, b), 0.5)
            for i, a in enumerate(examples)
            for b in examples[i + 1 :]
            if a.task_id == b.task_id
        ]
        return LabelledSet(examples, pairs)

    return make
