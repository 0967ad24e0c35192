"""The audit passes what the builder writes, and finds what is done to it afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bed.episodes import EpisodeFile
from bed.episodes.audit import Check, audit
from bed.errors import DataError
from bed.evidence import Episode, Experiment, Fields, Hypothesis, Outcome, Stub


def violated(checks: Sequence[Check]) -> dict[str, str]:
    return {check.name: check.found for check in checks if check.state == "violated"}


def by_name(checks: Sequence[Check]) -> dict[str, Check]:
    return {check.name: check for check in checks}


@pytest.fixture(scope="module")
def clean(small_file: EpisodeFile) -> list[Check]:
    return audit(small_file)["depmap"]


def test_a_build_keeps_the_principles(clean: list[Check]) -> None:
    assert violated(clean) == {}
    assert {check.principle for check in clean} == {"P1", "P2", "P3", "P4", "P5"}


@pytest.mark.parametrize("name", ["bins", "chronos"])
def test_real_builds_keep_the_principles(real_files: dict[str, EpisodeFile], name: str) -> None:
    assert violated(audit(real_files[name])["depmap"]) == {}


def test_base_rates_are_reported(clean: list[Check]) -> None:
    found = by_name(clean)
    for tier in (1, 2, 3, 5, 6):
        assert "of them supported (base rate)" in found[f"tier {tier}"].found
    assert found["tier 4"].found == "0.00 a pool"


def changed(file: EpisodeFile, at: int, episode: Episode) -> EpisodeFile:
    episodes = list(file.episodes)
    episodes[at] = episode
    return replace(file, episodes=tuple(episodes))


def with_stub(file: EpisodeFile, stub: Stub, place: int = 0) -> EpisodeFile:
    """Put a stub into the first training episode's pool, with its true tier."""
    from bed.domains import relation

    at = next(i for i, episode in enumerate(file.episodes) if episode.split == "train")
    episode = file.episodes[at]
    pool = list(episode.pool)
    pool[place] = stub
    relations = [relation(episode.target, item.experiment) for item in pool]
    return changed(
        file,
        at,
        replace(
            episode,
            pool=tuple(pool),
            tiers=tuple(item.tier for item in relations),
            tags=tuple(item.tag for item in relations),
        ),
    )


def knockout(target: Hypothesis, kind: str = "knockout", **more: Any) -> Experiment:
    fields = {name: value for name, value in target.fields.items() if name != "claim"} | more
    hypothesis = Hypothesis(target.text, "depmap", Fields(claim="dependency", **fields))
    name = f"{kind}:{fields['gene']}:{fields['cell_line']}"
    return Experiment(name, hypothesis, fields=Fields(kind=kind, **fields))


def first_training(file: EpisodeFile) -> Episode:
    return next(episode for episode in file.episodes if episode.split == "train")


def own_measurement(file: EpisodeFile) -> EpisodeFile:
    outcome = Outcome(Fields(chronos=-1.0, p_dependency=0.99))
    return with_stub(file, Stub(knockout(first_training(file).target), outcome))


def own_knockdown(file: EpisodeFile) -> EpisodeFile:
    outcome = Outcome(Fields(effect_bin="dependency"))
    return with_stub(file, Stub(knockout(first_training(file).target, "knockdown"), outcome))


def flipped_label(file: EpisodeFile) -> EpisodeFile:
    episode = file.episodes[5]
    return changed(file, 5, replace(episode, label=1 - episode.label))


def held_out_gene(file: EpisodeFile) -> EpisodeFile:
    gene = next(episode.unit for episode in file.episodes if episode.split == "test")
    target = first_training(file).target
    outcome = Outcome(Fields(chronos=-1.0, p_dependency=0.99))
    return with_stub(file, Stub(knockout(target, gene=gene), outcome))


def gene_in_another_split(file: EpisodeFile) -> EpisodeFile:
    at = next(i for i, episode in enumerate(file.episodes) if episode.split == "test")
    return changed(file, at, replace(file.episodes[at], split="train"))


def wrong_tier(file: EpisodeFile) -> EpisodeFile:
    episode = file.episodes[7]
    tiers = (2 if episode.tiers[0] != 2 else 1, *episode.tiers[1:])
    return changed(file, 7, replace(episode, tiers=tiers))


def contradicting_outcome(file: EpisodeFile) -> EpisodeFile:
    stubs = [stub for episode in file.episodes for stub in episode.pool]
    ids = [stub.experiment.id for stub in stubs]
    twice = next(
        stub
        for stub in stubs
        if ids.count(stub.experiment.id) > 1 and stub.experiment.fields["kind"] == "knockout"
    )
    at = next(i for i, e in enumerate(file.episodes) if twice in e.pool)
    episode = file.episodes[at]
    other = replace(twice, outcome=Outcome(Fields(chronos=-2.345, p_dependency=1.0)))
    pool = tuple(other if stub == twice else stub for stub in episode.pool)
    return changed(file, at, replace(episode, pool=pool))


def unreadable_outcome(file: EpisodeFile) -> EpisodeFile:
    stub = first_training(file).pool[0]
    return with_stub(file, replace(stub, outcome=Outcome(Fields(chronos=float("nan")))))


def result_in_the_experiment(file: EpisodeFile) -> EpisodeFile:
    stub = first_training(file).pool[0]
    telling = Fields(stub.experiment.fields, chronos=-1.0)
    return with_stub(file, replace(stub, experiment=replace(stub.experiment, fields=telling)))


def same_pair_twice(file: EpisodeFile) -> EpisodeFile:
    episode = first_training(file)
    stub = next(s for s in episode.pool[1:] if s.experiment.fields["kind"] == "knockout")
    twin = replace(stub.experiment, id="again")
    return with_stub(file, replace(stub, experiment=twin))


def fifteen_stubs(file: EpisodeFile) -> EpisodeFile:
    episode = file.episodes[0]
    short = replace(
        episode, pool=episode.pool[:15], tiers=episode.tiers[:15], tags=episode.tags[:15]
    )
    return changed(file, 0, short)


def related_first(file: EpisodeFile) -> EpisodeFile:
    def ordered(episode: Episode) -> Episode:
        rows = sorted(
            zip(episode.tiers, episode.tags, episode.pool, strict=True), key=lambda row: row[0]
        )
        tiers, tags, pool = zip(*rows, strict=True)
        return replace(episode, pool=pool, tiers=tiers, tags=tags)

    return replace(file, episodes=tuple(map(ordered, file.episodes)))


def other_unit(file: EpisodeFile) -> EpisodeFile:
    return changed(file, 0, replace(file.episodes[0], unit="elsewhere"))


def supported_only(file: EpisodeFile) -> EpisodeFile:
    kept = [i for i, episode in enumerate(file.episodes) if episode.label or i % 3 == 0]
    return replace(
        file,
        episodes=tuple(file.episodes[i] for i in kept),
        held_out=tuple(file.held_out[i] for i in kept),
    )


def too_many_of_a_gene(file: EpisodeFile) -> EpisodeFile:
    gene = file.episodes[0]
    more = tuple(replace(gene, id=f"again {i}") for i in range(17))
    return replace(
        file, episodes=file.episodes + more, held_out=file.held_out + file.held_out[:1] * 17
    )


Tamper = Callable[[EpisodeFile], EpisodeFile]


@pytest.mark.parametrize(
    ("tamper", "name"),
    [
        (own_measurement, "knockouts or knockdowns of the target itself in its pool"),
        (own_knockdown, "knockouts or knockdowns of the target itself in its pool"),
        (flipped_label, "labels that the held-out outcome denies"),
        (held_out_gene, "held-out genes seen in another gene's episode"),
        (gene_in_another_split, "genes outside the split of their hash"),
        (wrong_tier, "stored tiers or tags that differ from the computed"),
        (contradicting_outcome, "experiments with two outcomes"),
        (unreadable_outcome, "outcomes that neither bed nor a prompt can read"),
        (result_in_the_experiment, "experiments with fields beyond their design"),
        (same_pair_twice, "a gene disturbed twice in one line of a pool"),
        (fifteen_stubs, "pools of another size than 16"),
        (related_first, "place in the pool against tier"),
        (other_unit, "episodes whose unit is not their gene"),
        (supported_only, "label 1, overall"),
        (too_many_of_a_gene, "gene units with more than 16 targets"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_tampering_is_found(small_file: EpisodeFile, tamper: Tamper, name: str) -> None:
    assert name in violated(audit(tamper(small_file))["depmap"])


def test_line_names_that_tell_the_label_are_found(small_file: EpisodeFile) -> None:
    """Keep the supported targets of half of the lines and the others of the rest."""
    lines = sorted({episode.target.fields["cell_line"] for episode in small_file.episodes})
    kept = [
        i
        for i, episode in enumerate(small_file.episodes)
        if episode.label == lines.index(episode.target.fields["cell_line"]) % 2
    ]
    file = replace(
        small_file,
        episodes=tuple(small_file.episodes[i] for i in kept),
        held_out=tuple(small_file.held_out[i] for i in kept),
    )
    assert "AUROC of the label from the cell line's name" in violated(audit(file)["depmap"])


def test_quotas_missed_are_off_not_violated(small_file: EpisodeFile, clean: list[Check]) -> None:
    found = by_name(clean)
    # Five lineages cannot keep to 15 %.
    assert found["largest lineage"].state == "off"
    assert found["quotas not filled"].state == "off"


def test_a_file_that_keeps_no_held_out_outcomes(small_file: EpisodeFile) -> None:
    found = by_name(audit(EpisodeFile(small_file.episodes, small_file.info))["depmap"])
    assert found["labels against the held-out outcome"].state == "off"
    assert found["refuted among negatives"].state == "off"


def test_a_file_without_a_seed(small_file: EpisodeFile) -> None:
    found = by_name(audit(replace(small_file, info={}))["depmap"])
    assert found["split by the seed"].state == "off"


def test_a_file_of_one_split(small_file: EpisodeFile) -> None:
    kept = [i for i, episode in enumerate(small_file.episodes) if episode.split == "test"]
    for info in (small_file.info, {}):
        file = EpisodeFile(tuple(small_file.episodes[i] for i in kept), info)
        found = audit(file)["depmap"]
        assert violated(found) == {}
        for name in ("label from names alone", "held-out genes seen in another gene's episode"):
            assert by_name(found)[name].state == "info"
            assert "only the split test is present" in by_name(found)[name].found


def test_no_episodes() -> None:
    with pytest.raises(DataError, match="holds no episodes"):
        audit(EpisodeFile(()))


def test_other_domains(small_file: EpisodeFile) -> None:
    first = small_file.episodes[0]
    exact = replace(first, target=Hypothesis("theta", "world"))
    with pytest.raises(DataError, match=r"no audit for the domain \['world'\]"):
        audit(EpisodeFile((exact,)))
