"""What calls returned: which observations belong to which call of a step, and whether they are an error.

Logs often say neither. Observations without a call's id are matched by position only where that leaves no
doubt, and an error is told by the log's own mark before the form of the content.
"""

import json
import re

from rmtrain.trajectories.schema import Observation, Step


def paired(step: Step) -> tuple[tuple[Observation, ...] | None, ...]:
    """The observations of each call of `step`, in order of its calls.

    By `call_id` where an observation has one that a call has too, the rest by position if as many calls
    as observations are left; a single call owns all of the rest.

    Returns:
        One entry per call: empty where none is recorded, None where they cannot be told apart.
    """
    found: list[list[Observation]] = [[] for _ in step.calls]
    loose: list[Observation] = []
    for observation in step.observations:
        named = [i for i, call in enumerate(step.calls) if call.call_id is not None]
        owners = [i for i in named if step.calls[i].call_id == observation.call_id]
        if owners:
            found[next((i for i in owners if not found[i]), owners[-1])].append(observation)
        else:
            loose.append(observation)
    free = [i for i, own in enumerate(found) if not own]
    if loose and len(step.calls) == 1:
        found[0] += loose
    elif loose and len(free) == len(loose):
        for i, observation in zip(free, loose, strict=True):
            found[i].append(observation)
    elif loose:
        return tuple(tuple(own) or None for own in found)
    return tuple(tuple(own) for own in found)


def error_rule(observations: tuple[Observation, ...]) -> tuple[bool, str]:
    """Whether a result is an error, and the rule that told: the log's own mark, else the content's form."""
    for observation in observations:
        if observation.is_error:
            return True, "the log marks it as an error"
        if observation.is_error is None:
            if re.match(r"\s*error(?![\w])", observation.content, re.IGNORECASE):
                return True, "its content begins with 'Error'"
            if _has_error_key(observation.content):
                return True, "it is a JSON object with a truthy 'error' key"
    if all(observation.is_error is False for observation in observations):
        return False, "the log marks it as no error"
    return False, "nothing in its content marks an error"


def _has_error_key(content: str) -> bool:
    text = content.strip()
    if not (text.startswith("{") and text.endswith("}") and '"error"' in text):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and bool(value.get("error"))
