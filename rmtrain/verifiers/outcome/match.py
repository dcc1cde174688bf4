"""Correctness by the answer's text: exact match and token F1 after SQuAD normalisation.

Normalisation: lower case, punctuation removed, the articles a, an, the removed, white space joined. With
several reference answers the best counts. Where steps are recorded and no answer is, the agent gave none: 0.

Source: Rajpurkar et al. 2016, SQuAD, section 6.1 and the official evaluation script (version 2.0 for
answers that are empty after normalisation: F1 is 1 if both are, else 0).
"""

import re
import string
from collections import Counter
from collections.abc import Callable

from rmtrain.trajectories.schema import Trajectory
from rmtrain.verifiers.base import Verdict, abstained, decided
from rmtrain.verifiers.json_values import preview
from rmtrain.verifiers.outcome.tokens import contains, tokens

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """`text` in the form in which SQuAD compares answers."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, reference: str) -> float:
    """1.0 if both are equal after normalisation, else 0.0."""
    return float(normalize_answer(answer) == normalize_answer(reference))


def token_f1(answer: str, reference: str) -> float:
    """Harmonic mean of precision and recall over the two bags of tokens, in [0, 1]."""
    ours, theirs = normalize_answer(answer).split(), normalize_answer(reference).split()
    if not ours or not theirs:
        return float(ours == theirs)
    shared = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * shared / (len(ours) + len(theirs))


def holds_answer(answer: str, reference: str) -> float:
    """1.0 if the answer says the reference, word for word and number for number, anywhere in its text.

    An agent's last message is a sentence more often than the bare answer, which `exact_match` would call wrong.
    """
    if not tokens(reference):
        return exact_match(answer, reference)
    return float(contains(answer, reference))


class AnswerMatch:
    """The answer against the reference answers.

    Args:
        name: of the verifier.
        measure: of (answer, reference), in [0, 1].
    """

    version = 1

    def __init__(self, name: str, measure: Callable[[str, str], float]) -> None:
        self.name = name
        self._measure = measure

    def verify(self, trajectory: Trajectory) -> list[Verdict]:
        """One verdict on the trajectory."""
        reference = trajectory.task.reference
        if reference is None or not reference.answers:
            return [abstained(self, trajectory, "the reference has no answers")]
        if trajectory.answer is None:
            if not trajectory.steps:
                return [abstained(self, trajectory, "nothing was recorded: no steps and no answer")]
            return [decided(self, trajectory, 0.0, "the agent gave no answer")]
        values = [self._measure(trajectory.answer, expected) for expected in reference.answers]
        best = values.index(max(values))
        evidence = {"answer": preview(trajectory.answer), "reference": preview(reference.answers[best])}
        reason = f"best of {len(values)} reference answers: {values[best]:.3f}"
        return [decided(self, trajectory, values[best], reason, evidence=evidence)]
