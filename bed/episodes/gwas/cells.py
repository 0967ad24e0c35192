"""What single cells of the GWAS Catalog say: alleles, directions, effects, samples, dates.

Each reader returns None where the cell says nothing that can be used; a cell never turns into a
number that is not printed in it.
"""

import re
from datetime import date, datetime
from functools import cache

from bed.domains.gwas import implied_direction

__all__ = [
    "allele",
    "ancestry",
    "direction",
    "effect",
    "frequency",
    "genes",
    "interval",
    "other_snp",
    "published",
    "sample_size",
    "several_snps",
    "terms",
]

_NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BRACKET = re.compile(r"\[[^\]]*\]")
_FREQUENCY = re.compile(r"(0?\.[0-9]+|[01])(\s*-\s*(0?\.[0-9]+|[01]))?")
_PARTS = re.compile(r"(?<![0-9])[,;]|[,;](?![0-9]{3}(?![0-9]))")
"""What stands between the parts of a sample; a comma between thousands does not."""
_SAMPLE = re.compile(r"([0-9](?:[0-9.,]|\s(?=[0-9]{3}(?![0-9])))*)\s*((?:[A-Z][a-z]+[ -]?)*)")
_COUNT = re.compile(r"[0-9]+|[0-9]{1,3}([,.\s])[0-9]{3}(\1[0-9]{3})*")
_SHORTENED = re.compile(r"[0-9]\s*(k|m|million|thousand)\b", re.IGNORECASE)
_DATES = ("%d-%b-%Y", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S")


def several_snps(text: str) -> bool:
    """Return whether a cell names a haplotype or an interaction rather than one SNP.

    Args:
        text: such as "rs1 x rs2", "rs1; rs2" or "rs1, rs2".
    """
    return bool(re.search(r"[;,]|\sx\s", text))


def other_snp(text: str, *own: str) -> bool:
    """Return whether the strongest SNP is another one than the row is about.

    Args:
        text: such as "rs123-A"; without an rs number it names none.
        own: the numbers that the row's SNP goes by, such as "rs123".
    """
    named = re.findall(r"rs[0-9]+", text.casefold())
    return bool(set(named) - set(own))


def allele(text: str) -> str | None:
    """Return the allele of "rs123-A"; None where it is not reported ("rs123-?", "rs123").

    Args:
        text: the strongest SNP with its risk allele.
    """
    found = re.search(r"-\s*([ACGT]+)$", text.strip())
    return found.group(1) if found else None


def effect(text: str) -> str | None:
    """Return an odds ratio or a beta as printed, with a zero before a leading point.

    Args:
        text: such as "1.04", ".03" or "3.0E-4".
    """
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    return f"0{text}" if text.startswith(".") else text.replace("-.", "-0.")


def interval(text: str) -> str | None:
    """Return the interval and the unit as printed, without the brackets round the unit.

    Args:
        text: such as "[0.03-0.05] (unit increase)"; "[NR]" alone says nothing.
    """
    found = _BRACKET.search(text)
    unit = _unit(text)
    parts = [found.group() if found else "", unit]
    joined = " ".join(part for part in parts if part)
    return None if joined in ("", "[NR]") else joined


def _unit(text: str) -> str:
    """Return what stands beside the interval: the unit of a beta."""
    rest = _BRACKET.sub(" ", text).strip()
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1].strip()
    return "" if rest == "NR" else rest


def direction(interval_text: str, effect_text: str) -> str | None:
    """Return "increases" or "decreases", what the risk allele does, or None where it is not said.

    As `implied_direction` says; but a negative number, which the catalog does not mean to hold,
    says nothing, and neither does no effect at all.

    Args:
        interval_text: the cell of the confidence interval.
        effect_text: the cell of the effect.
    """
    printed = effect(effect_text)
    if printed is not None and float(printed) <= 0:
        return None
    said = implied_direction(printed or "", interval_text)
    return None if said == "neither" else said


def frequency(text: str) -> str | None:
    """Return a risk allele frequency, or a range of them, as printed.

    Args:
        text: such as "0.47"; "NR" is not reported.
    """
    text = text.strip()
    return text if _FREQUENCY.fullmatch(text) else None


def genes(text: str) -> tuple[str, ...]:
    """Return the mapped genes; a SNP between two genes is mapped to both.

    Args:
        text: such as "FTO", "GCKR, C2orf16" or "BRINP2 - SEC16B".
    """
    parts = (part.strip() for part in re.split(r"\s-\s|[,;]|\sx\s", text))
    names = (part for part in parts if part and part.casefold() not in ("nr", "na", "intergenic"))
    return tuple(dict.fromkeys(names))


def terms(names: str, addresses: str) -> tuple[str, ...]:
    """Return the mapped ontology terms, sorted.

    The catalog separates them by commas, which also stand within names. Where commas and
    addresses do not agree in number, the ends of the addresses stand for the terms.

    Args:
        names: separated by "|" or ", ".
        addresses: URIs separated in the same way; may be blank.
    """
    uris = [uri for uri in re.split(r"\||,\s*", addresses.strip()) if uri]
    if "|" in names or len(uris) <= 1:
        found = names.split("|")
    else:
        found = names.split(", ")
        if len(found) != len(uris):
            found = [uri.rsplit("/", 1)[-1] for uri in uris]
    return tuple(sorted({name.strip() for name in found if name.strip()}))


def sample_size(text: str) -> int | None:
    """Return the number of people: the sum of the first number of each part of the description.

    None where one of them is no plain count, such as "1.5 million".

    Args:
        text: such as "1,019 European ancestry cases, 806 European ancestry controls"; thousands
            may also be set apart by points or blanks.
    """
    found = [number.rstrip(".,") for number, _ in _parts(text)]
    if _SHORTENED.search(text) or not all(map(_COUNT.fullmatch, found)):
        return None
    return sum(int(re.sub(r"[\s.,]", "", number)) for number in found) or None


def ancestry(text: str) -> str | None:
    """Return the ancestries named, in the order in which they stand.

    Args:
        text: as of `sample_size`.
    """
    names = (words.strip() for _, words in _parts(text))
    return ", ".join(dict.fromkeys(name for name in names if name)) or None


@cache
def _parts(text: str) -> tuple[tuple[str, str], ...]:
    """Return number and capitalised words after it of each part."""
    found = (_SAMPLE.search(part) for part in _PARTS.split(text))
    return tuple((match.group(1), match.group(2)) for match in found if match)


@cache
def published(text: str) -> date | None:
    """Return the day of publication.

    Args:
        text: such as "23-Jul-2014" or "2014-07-23".
    """
    for form in _DATES:
        try:
            return datetime.strptime(text.strip(), form).date()
        except ValueError:
            continue
    return None
