"""One episode of a user's own, as plain data, to values and back.

The data come from a JSON line or from the rows of a CSV file; `place` says where in messages.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bed.domains import canonical, relation
from bed.episodes.imports.places import placed
from bed.episodes.imports.schema import keys
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub, from_json, to_json

__all__ = ["Record", "plain_data", "read_record", "require_keys"]


@dataclass(frozen=True, slots=True)
class Record:
    """An episode with what may stand beside it in a file.

    Attributes:
        episode: the episode.
        held_out: the outcome that gives its label, or None.
        prompts: number of stubs shown -> {"system", "user"}.
    """

    episode: Episode
    held_out: Outcome | None
    prompts: Mapping[int, Mapping[str, str]]


def require_keys(data: Any, place: str, known: Collection[str], *needed: str) -> None:
    """Raise unless `data` is an object with the needed keys and no unknown one.

    Args:
        data: what was read.
        place: where it stands, for messages.
        known: all keys allowed.
        needed: those that must be there.

    Raises:
        DataError: naming the keys that are unknown or lacking.
    """
    if not isinstance(data, dict):
        raise DataError(f"{place} is {_short(data)}; expected an object with {list(known)}")
    if unknown := sorted(data.keys() - set(known)):
        raise DataError(f"{place}: unknown keys {unknown}; known: {list(known)}")
    if lacking := [name for name in needed if name not in data]:
        raise DataError(f"{place}: lacks {lacking}; found {list(data)}")


def _short(value: Any) -> str:
    found = repr(value)
    return found if len(found) <= 80 else found[:77] + "..."


def read_record(data: Any, place: str, default_id: str) -> Record:
    """Read one episode.

    Args:
        data: as in the definition "episode" of the JSON Schema.
        place: file and line or row, for messages.
        default_id: of an episode that states none.

    Raises:
        DataError: for a key that is unknown or missing, or a value that it cannot hold.
    """
    require_keys(data, place, keys("episode"), "hypothesis", "label", "experiments")
    target = _claim(data["hypothesis"], f"{place}: hypothesis", "generic")
    items = data["experiments"]
    if not isinstance(items, list) or not items:
        raise DataError(
            f"{place}: experiments is {_short(items)}; list one or more, or leave the episode out"
        )
    found = [
        _experiment(item, f"{place}, experiment {number}", f"x{number}", target)
        for number, item in enumerate(items, start=1)
    ]
    for name in ("id", "split", "unit"):
        if name in data and not (isinstance(data[name], str) and data[name].strip()):
            raise DataError(f"{place}: {name} {data[name]!r} must be text and not empty")
    with placed(place):
        if not isinstance(data["label"], int):
            raise DataError(f"label {data['label']!r} must be 0 or 1")
        episode = Episode(
            data.get("id", default_id),
            target,
            data["label"],
            tuple(stub for stub, _, _ in found),
            tuple(tier for _, tier, _ in found),
            tuple(tag for _, _, tag in found),
            data.get("split", "test"),
            data.get("unit", ""),
        )
    held_out = None
    if "held_out" in data:
        held_out = Outcome(_fields(data["held_out"], f"{place}: held_out"))
    return Record(episode, held_out, _prompts(data.get("prompts", {}), f"{place}: prompts"))


def _claim(data: Any, place: str, domain: str) -> Hypothesis:
    """Return a claim given as text or as an object; it is of `domain` where it does not say."""
    given = {"text": data} if isinstance(data, str) else data
    require_keys(given, place, ("text", "domain", "fields"), "text")
    with placed(place):
        found = from_json(Hypothesis, json.dumps({"domain": domain, **given}))
        canonical(found.domain)
    return found


def _fields(data: Any, place: str) -> Fields:
    if not isinstance(data, dict):
        raise DataError(f"{place} is {_short(data)}; expected an object of values by name")
    with placed(place):
        return from_json(Outcome, json.dumps({"fields": data})).fields


def _experiment(
    data: Any, place: str, default_id: str, target: Hypothesis
) -> tuple[Stub, int, str]:
    """Return a stub with its tier and tag."""
    require_keys(data, place, keys("experiment"), "hypothesis")
    local = _claim(data["hypothesis"], f"{place}: hypothesis", target.domain)
    outcome = _result(data, place)
    more = _stated(data, place, target) if "tier" in data else {}
    own = _fields(data.get("fields", {}), f"{place}: fields")
    if told := {"result", "supported"} & set(own):
        raise DataError(
            f"{place}: fields {sorted(told)} would show the result before the experiment is run; "
            "give them beside 'fields', as the experiment's result"
        )
    fields = Fields({**more, **own})
    for name, value in more.items():
        if fields[name] != value:
            raise DataError(
                f"{place}: tier {data['tier']!r}, but fields say {name} {fields[name]!r}; drop one"
            )
    with placed(place):
        experiment = Experiment(
            data.get("id", default_id),
            local,
            data.get("cost", 1.0),
            data.get("is_repeatable", False),
            fields,
        )
        if "relation" not in data:
            found = relation(target, experiment)
            return Stub(experiment, outcome), found.tier, found.tag
    said = data["relation"]
    require_keys(said, f"{place}: relation", keys("relation"), *keys("relation"))
    if type(said["tier"]) is not int or not isinstance(said["tag"], str):
        raise DataError(f"{place}: relation {said!r} must hold a tier, 1 or more, and a tag")
    return Stub(experiment, outcome), said["tier"], said["tag"]


def _stated(data: Mapping[str, Any], place: str, target: Hypothesis) -> dict[str, Any]:
    """Return the field in which an experiment of the target's domain keeps a stated tier."""
    tier = data["tier"]
    if type(tier) is not int or tier < 1:
        raise DataError(f"{place}: tier {tier!r} must be a whole number, 1 or more")
    if canonical(target.domain) == "generic":
        return {"tier": tier}
    return {"stated_relation": {"to": target.text, "tier": tier, "tag": f"evidence of tier {tier}"}}


def _result(data: Mapping[str, Any], place: str) -> Outcome:
    """Return the outcome: a text, fields, the flag `supported`, or several of these."""
    result = data.get("result", {})
    given = {"result": result} if isinstance(result, str) and result.strip() else result
    if "supported" in data:
        supported = data["supported"]
        if not isinstance(supported, bool):
            raise DataError(f"{place}: supported {supported!r} must be true or false")
        if not isinstance(given, dict) or given.get("supported", supported) is not supported:
            raise DataError(
                f"{place}: supported is {supported}, but result is {_short(result)}; mend one"
            )
        given = {**given, "supported": supported}
    if not given:
        raise DataError(
            f"{place}: no result ({_short(data.get('result'))}); give it in words or as fields, or "
            "say whether the hypothesis was supported"
        )
    return Outcome(_fields(given, f"{place}: result"))


def _prompts(data: Any, place: str) -> dict[int, dict[str, str]]:
    if not isinstance(data, dict):
        raise DataError(f"{place} are {_short(data)}; expected an object by number of stubs")
    for number, prompt in data.items():
        if not number.isascii() or not number.isdigit():
            raise DataError(f"{place}: {number!r} is not a number of stubs")
        require_keys(prompt, f"{place}: {number}", ("system", "user"), "system", "user")
        if not all(isinstance(text, str) for text in prompt.values()):
            raise DataError(f"{place}: {number}: {_short(prompt)} must hold texts")
    return {int(number): prompt for number, prompt in data.items()}


def plain_data(record: Record) -> dict[str, Any]:
    """Return the plain data that `read_record` turns into an equal record.

    Args:
        record: an episode with what stands beside it.

    Raises:
        DataError: for an empty pool, or an outcome without fields, which no import would accept.
    """
    episode = record.episode
    if not episode.pool:
        raise DataError(f"episode {episode.id!r} has no experiments; leave it out of the export")
    data: dict[str, Any] = {
        "id": episode.id,
        "hypothesis": _loaded(episode.target),
        "label": episode.label,
        "split": episode.split,
        "unit": episode.unit,
        "experiments": [
            _plain_stub(episode, stub, tier, tag)
            for stub, tier, tag in zip(episode.pool, episode.tiers, episode.tags, strict=True)
        ],
    }
    if record.held_out is not None:
        data["held_out"] = _loaded(record.held_out)["fields"]
    if record.prompts:
        data["prompts"] = {str(k): dict(prompt) for k, prompt in record.prompts.items()}
    return data


def _plain_stub(episode: Episode, stub: Stub, tier: int, tag: str) -> dict[str, Any]:
    if not stub.outcome.fields:
        raise DataError(
            f"episode {episode.id!r}: experiment {stub.experiment.id!r} has an empty outcome; "
            "leave it out of the export"
        )
    return {
        **_loaded(stub.experiment),
        "result": _loaded(stub.outcome)["fields"],
        "relation": {"tier": tier, "tag": tag},
    }


def _loaded(value: Hypothesis | Experiment | Outcome) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(to_json(value))
    return found
