"""Which traits are one, and which are related.

One trait: the same reported name, or the same mapped ontology terms, and whatever hangs together
by these two. Related: a shared mapped term or EFO parent. Where the trait mappings are not given, a
shared family (`families`) or content word of the names stands in for the parent: a word of 3
letters or more that is not generic (level, measurement, disease, ...) and stands in 2 to 40 traits.
That is an approximation: "breast size" is then related to "breast carcinoma".
"""

import re
from collections import Counter
from collections.abc import Iterable

from bed.episodes.gwas.catalog import Association
from bed.episodes.gwas.families import families
from bed.episodes.gwas.sides import Parents

__all__ = ["Traits"]

_MOST_TRAITS = 40
_GENERIC_WORDS = """
ability acid activity adverse age agent alpha and anti antigen associated association attention
average beta biomarker blood body capacity cell change characteristic chronic circulating combined
common component concentration condition content count cumulative decline density diagnosis
disease disorder dose drug duration dysfunction early effect event factor female first for forced
form free from function functional gamma general grade group high impairment incidence index
induced inhibitor interaction internal interval late left length level loss low lower major male
marker mass mean measure measurement mellitus metabolism metabolite minor morphology mortality
multiple non number onset other outcome parameter pattern performance phenotype plasma post
presence primary process progression protein quantitative rate ratio reading related response
right risk score secondary self serum severe severity sex size speed status susceptibility symptom
syndrome system systemic test the therapy thickness time tissue total trait treatment type upper
use vaccine variability variant versus volume width with without
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
_Name = tuple[str, tuple[str, ...]]


class Traits:
    """The traits of a catalog.

    Args:
        associations: whose traits are meant.
        parents: the EFO parents, where they are known.
    """

    def __init__(self, associations: Iterable[Association], parents: Parents | None = None) -> None:
        names: set[_Name] = {(found.trait, found.terms) for found in associations}
        self._keys = _keys(names)
        self._parents = parents
        self._common = _common_words(self._keys)

    def key(self, found: Association) -> str:
        """Return the name of the trait under all of its names.

        Args:
            found: one of the associations.
        """
        return self._keys[found.trait, found.terms]

    def groups(self, found: Association) -> tuple[str, ...]:
        """Return what the trait shares with related ones: EFO parents, or families and words.

        Args:
            found: one of the associations.
        """
        if self._parents is not None:
            return self._parents.of(found.trait, found.terms)
        name = (found.trait, found.terms)
        return tuple(sorted(families(_text(name)) | (_words(name) & self._common)))

    def parent(self, found: Association) -> str | None:
        """Return the EFO parents as text; None where they are not known.

        Args:
            found: one of the associations.
        """
        return ", ".join(self.groups(found)) or None if self._parents is not None else None


def _keys(names: set[_Name]) -> dict[_Name, str]:
    """Return the first of all reported names that hang together, for each name."""
    leader: dict[object, object] = {}

    def top(item: object) -> object:
        while (above := leader.setdefault(item, item)) != item:
            item = above
        return item

    for trait, terms in names:
        mine = top(trait.casefold())
        if terms:
            leader[top(terms)] = mine
    first: dict[object, str] = {}
    for trait, _ in sorted(names):
        first.setdefault(top(trait.casefold()), trait)
    return {name: first[top(name[0].casefold())] for name in names}


def _text(name: _Name) -> str:
    return " ".join((name[0], *name[1])).casefold()


def _words(name: _Name) -> frozenset[str]:
    """Return the content words of a trait's reported name and terms, in the singular."""
    found = re.findall(r"[^\W\d_]{3,}", _text(name))
    singular = {
        word[:-1] if word.endswith("s") and word[-2] not in "eisu" else word for word in found
    }
    return frozenset(singular - _GENERIC)


def _common_words(keys: dict[_Name, str]) -> frozenset[str]:
    """Return the words that stand in 2 to 40 traits."""
    traits = {(word, key) for name, key in keys.items() for word in _words(name)}
    times = Counter(word for word, _ in traits)
    return frozenset(word for word, num in times.items() if 2 <= num <= _MOST_TRAITS)
