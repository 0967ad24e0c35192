"""One episode of a user's own, as plain data, to values and back.

The data come from a JSON line or from the rows of a CSV file; `place` says where in messages.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bed.domains import STATED_RELATION, canonical, relation
from bed.episodes.imports.agreement import prompt_is_read, require_wording
from bed.episodes.imports.identity import IDENTIFIERS, require_not_own
from bed.episodes.imports.places import placed
from bed.episodes.imports.schema import LAST_TIER, keys
from bed.errors import DataError
from bed.evidence import (
    Episode,
    Evidence,
    Experiment,
    Fields,
    Hypothesis,
    Outcome,
    Stub,
    from_json,
    to_json,
)

__all__ = ["Record", "plain_data", "read_record", "require_keys", "require_no_nan"]

_NO_NUMBERS = {"nan", "inf", "-inf", "infinity", "-infinity"}


@dataclass(frozen=True, slots=True)
class Record:
    """An episode with what may stand beside it in a file.

    Attributes:
        episode: the episode.
        held_out: the outcome that gives its label, or None.
        prompts: number of stubs shown -> {"system", "user"}.
        unread_prompts: how many of them are of a layout that cannot be checked.
    """

    episode: Episode
    held_out: Outcome | None
    prompts: Mapping[int, Mapping[str, str]]
    unread_prompts: int = 0


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


def require_no_nan(value: Any, where: str) -> None:
    """Raise for a text that stands for a number that is none.

    Args:
        value: plain data, nested as it may be.
        where: names the place, for messages.

    Raises:
        DataError: naming the text and where it stands.
    """
    if isinstance(value, str) and value.strip().casefold() in _NO_NUMBERS:
        raise DataError(f"{where} is {value!r}, which is no number; leave it out where not known")
    for name, item in value.items() if isinstance(value, dict) else ():
        require_no_nan(item, f"{where}, {name}")
    for number, item in enumerate(value if isinstance(value, list) else (), start=1):
        require_no_nan(item, f"{where}, {number}")


def read_record(
    data: Any, place: str, default_id: str, places: Sequence[str] | None = None
) -> Record:
    """Read one episode.

    Args:
        data: as in the definition "episode" of the JSON Schema.
        place: file and line or row, for messages.
        default_id: of an episode that states none.
        places: of each experiment, for messages; by their numbers if None.

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
    numbers = range(1, len(items) + 1)
    places = places or [f"{place}, experiment {number}" for number in numbers]
    found = [
        _experiment(item, where, f"x{number}", target)
        for item, where, number in zip(items, places, numbers, strict=True)
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
    prompts = _prompts(data.get("prompts", {}), f"{place}: prompts", len(found))
    num_unread = 0
    for k, prompt in prompts.items():
        with placed(f"{place}: prompts: {k}"):
            num_unread += not prompt_is_read(prompt["user"], target, _shown(episode.pool[:k]))
    return Record(episode, held_out, prompts, num_unread)


def _shown(stubs: Evidence) -> list[Mapping[str, Any]]:
    """Return what prompts print to tell the stubs of any domain by."""
    tested = (stub.experiment for stub in stubs)
    return [{**one.fields, "local_hypothesis": one.hypothesis.text} for one in tested]


def _claim(data: Any, place: str, domain: str) -> Hypothesis:
    """Return a claim given as text or as an object; it is of `domain` where it does not say."""
    given = {"text": data} if isinstance(data, str) else data
    require_keys(given, place, ("text", "domain", "fields"), "text")
    with placed(place):
        found = from_json(Hypothesis, json.dumps({"domain": domain, **given}))
        if canonical(found.domain) in IDENTIFIERS:
            _require_texts(found.domain, found.fields, "field")
            require_wording(found)
    return found


def _require_texts(domain: str, fields: Mapping[str, Any], what: str) -> None:
    """Raise where a field that names things is no text, so that nothing can be compared with it."""
    for name in IDENTIFIERS.get(canonical(domain), ()):
        if name in fields and not (isinstance(fields[name], str) and fields[name].strip()):
            raise DataError(
                f"{what} {name!r} is {_short(fields[name])}; in the domain {domain!r} it must be "
                "text and not empty"
            )


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
        _require_texts(local.domain, fields, "field")
        experiment = Experiment(
            data.get("id", default_id),
            local,
            _cost(data.get("cost", 1.0)),
            data.get("is_repeatable", False),
            fields,
        )
        tier, tag = _relation(data, target, experiment)
        require_not_own(target, experiment)
    return Stub(experiment, outcome), tier, tag


def _cost(cost: Any) -> float:
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        raise DataError(f"cost {_short(cost)} must be a number above 0")
    return cost


def _relation(
    data: Mapping[str, Any], target: Hypothesis, experiment: Experiment
) -> tuple[int, str]:
    """Return tier and tag as the data state them, or else as the domain tells them."""
    if "relation" in data:
        require_keys(said := data["relation"], "relation", keys("relation"), *keys("relation"))
        tier, tag = said["tier"], said["tag"]
    else:
        if STATED_RELATION not in experiment.fields:
            _require_relatable(target, experiment)
        found = relation(target, experiment)
        tier, tag = found.tier, found.tag
    _require_tier(tier)
    if not (isinstance(tag, str) and tag.strip()):
        raise DataError(f"tag {_short(tag)} of the relation must be text and not empty")
    return tier, tag


def _require_tier(tier: Any) -> None:
    if type(tier) is not int or not 1 <= tier <= LAST_TIER:
        raise DataError(f"tier {_short(tier)} must be a whole number from 1 to {LAST_TIER}")


def _require_relatable(target: Hypothesis, experiment: Experiment) -> None:
    """Raise where fields are lacking by which the domain tells how relevant an experiment is."""
    domain = canonical(target.domain)
    if domain not in IDENTIFIERS:
        return
    names = tuple(name for name in IDENTIFIERS[domain] if name != "gene" or domain == "depmap")
    more = () if domain == "gwas" else ("claim",)
    for what, found, needed in (
        ("hypothesis", target.fields, (*names, *more)),
        ("experiment", experiment.fields, (*names, "kind")),
    ):
        if lacking := [name for name in needed if name not in found]:
            raise DataError(
                f"the {what} lacks the fields {lacking}, by which the domain {domain!r} tells its "
                "relevance; give them, or state the experiment's 'tier'"
            )


def _stated(data: Mapping[str, Any], place: str, target: Hypothesis) -> dict[str, Any]:
    """Return the field in which an experiment of the target's domain keeps a stated tier."""
    tier = data["tier"]
    with placed(place):
        _require_tier(tier)
    if canonical(target.domain) == "generic":
        return {"tier": tier}
    return {"stated_relation": {"to": target.text, "tier": tier, "tag": f"evidence of tier {tier}"}}


def _result(data: Mapping[str, Any], place: str) -> Outcome:
    """Return the outcome: a text, fields, the flag `supported`, or several of these."""
    result = data.get("result", {})
    given = {"result": result} if isinstance(result, str) and result.strip() else result
    if isinstance(given, dict) and not isinstance(told := given.get("supported", True), bool):
        raise DataError(f"{place}: supported {_short(told)} in the result must be true or false")
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


def _prompts(data: Any, place: str, most: int) -> dict[int, dict[str, str]]:
    """Return the prompts by number of stubs shown, which the pool must have."""
    known = [str(number) for number in range(most + 1)]
    if not isinstance(data, dict):
        raise DataError(f"{place} are {_short(data)}; expected an object by number of stubs")
    for number, prompt in data.items():
        if number not in known:
            raise DataError(
                f"{place}: {_short(number)} is not a number of stubs; write 0 to {most}, as many "
                "as the pool has, without leading zeros"
            )
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
