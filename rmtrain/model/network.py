"""The reward model: backbone, trajectory encoder, heads, and the card that says what they are."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from rmtrain.config.model import BackboneSettings, EncoderSettings, HeadSettings, ScheduleSettings
from rmtrain.dataset.examples import Example
from rmtrain.model.backbone import Backbone
from rmtrain.model.encoder import TrajectoryEncoder
from rmtrain.model.heads import Heads, head_values
from rmtrain.model.pretrained import load_backbone
from rmtrain.model.windows import Windows, check_windows, make_windows
from rmtrain.trajectories.render import RenderOptions, render_hash


@dataclass
class Card:
    """What a reward model is, stored beside its weights.

    Attributes:
        heads: head name to its settings, in order.
        encoder: how a trajectory becomes step vectors.
        schedule: how loss weights moved in training.
        backbone: name of the backbone it began from.
        backbone_digest: SHA-256 of that backbone's weights before training.
        tune: which of them were trained.
        render_hash: identity of the text's form.
        dataset_digest: identity of the dataset it was trained on, None where nobody said.
    """

    heads: dict[str, HeadSettings]
    encoder: EncoderSettings
    schedule: ScheduleSettings
    backbone: str
    backbone_digest: str
    tune: str
    render_hash: str
    dataset_digest: str | None = None


class Scorer(nn.Module):
    """Everything behind the backbone: vectors of prefix and steps to logits, in fp32."""

    def __init__(self, dim: int, encoder: EncoderSettings, heads: dict[str, HeadSettings]) -> None:
        super().__init__()
        self.encoder = TrajectoryEncoder(dim, encoder)
        self.heads = Heads(heads, self.encoder.width, encoder.dropout)

    def forward(
        self, vectors: Float[Tensor, "batch slots dim"], step_mask: Bool[Tensor, "batch steps"]
    ) -> dict[str, Float[Tensor, "batch ..."]]:
        """Head name to logits; those of steps that are not there mean nothing."""
        with torch.autocast(vectors.device.type, enabled=False):
            found: dict[str, Tensor] = self.heads(self.encoder(vectors.float(), step_mask), step_mask)
        return found


class RewardNetwork(nn.Module):
    """A backbone with everything behind it, ready to train, save and score."""

    def __init__(self, backbone: Backbone, card: Card) -> None:
        super().__init__()
        check_windows(card.encoder, backbone.specials, backbone.max_tokens)
        self.backbone = backbone
        self.scorer = Scorer(backbone.hidden_size, card.encoder, card.heads)
        self.card = card

    def windows(self, examples: list[Example]) -> list[Windows]:
        """Tokenise examples and pack each into windows."""
        return make_windows(examples, self.backbone.tokenise, self.card.encoder, self.backbone.specials)

    def values(self, name: str, logits: Float[Tensor, "*items logits"]) -> Float[Tensor, "*items"]:
        """Logits of a head as values; see `head_values`."""
        return head_values(self.card.heads[name], logits)


def new_model(
    backbone: BackboneSettings,
    encoder: EncoderSettings,
    heads: dict[str, HeadSettings],
    schedule: ScheduleSettings,
    *,
    seed: int = 0,
    dataset_digest: str | None = None,
) -> RewardNetwork:
    """A reward model with a pretrained backbone and new heads.

    Args:
        backbone: where the backbone is and how it is tuned.
        encoder: how a trajectory becomes step vectors.
        heads: head name to its settings.
        schedule: how loss weights will move.
        seed: seed of the new weights; the caller's random state is left alone.
        dataset_digest: identity of the dataset.

    Raises:
        ConfigError: settings are unknown or contradict each other.
        ModelError: the backbone is absent or damaged.
    """
    found = load_backbone(backbone)
    card = Card(
        heads=dict(heads),
        encoder=encoder,
        schedule=schedule,
        backbone=backbone.name,
        backbone_digest=found.digest(),
        tune=backbone.tune,
        render_hash=render_hash(RenderOptions(markers=encoder.markers)),
        dataset_digest=dataset_digest,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RewardNetwork(found, card)
