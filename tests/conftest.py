"""Shared by all tests: shapes are checked at run time, the network is off, real data is found or skipped."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

install_import_hook("rmtrain", "beartype.beartype")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public data that some tests read; where it is absent they skip."""
    folder = Path(os.environ.get("RMTRAIN_REAL_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data is absent ({folder}); set RMTRAIN_REAL_DATA to its folder")
    return folder


@pytest.fixture(scope="session")
def tiny_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random two-layer encoder that knows the simulated world's words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from rmtrain.world.phrases import PHRASES
    from rmtrain.world.vocabulary import GIVEN, VALUES, WORDS

    folder = tmp_path_factory.mktemp("backbone")
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits()])
    corpus = [text for texts in PHRASES.values() for text in texts] + GIVEN + WORDS + VALUES + ["Task Thought Call"]
    words.train_from_iterator(corpus, trainers.WordLevelTrainer(special_tokens=specials, show_progress=False))
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=128,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=words.get_vocab_size(),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=128,
            initializer_range=0.2,
        )
        BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def mlflow_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a space in its name for an sqlite store of runs, ``m.db``, which takes seconds to set up."""
    return tmp_path_factory.mktemp("ml flow")


@pytest.fixture
def full_disk() -> Callable[..., object]:
    """`with full_disk(size):` no file grows beyond `size` bytes, so writing fails in earnest and in any library."""

    @contextmanager
    def limited(size: int = 0) -> Iterator[None]:
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)

    return limited
