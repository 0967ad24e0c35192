import re
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bed.prompts.escaping import TITLES, escaped, split_parts, unescaped

TAGS = re.compile(r"<\s*(?:[^\W\d]|[/|!?]|0x)")
TOKENS = (
    "<|im_start|>",
    "<start_of_turn>",
    "<\uff5cUser\uff5c>",
    "<<SYS>>",
    "<0x0A>",
    "<_pad_>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[TOOL_CALLS]",
    "[gMASK]",
    "<probability>1</probability>",
    "[7] tag",
    *TITLES,
)
STRUCTURE = re.compile(
    rf"{TAGS.pattern}|\[/?(?:INST|TOOL_CALLS|gMASK)\]|^\[[0-9]+\]|"
    + "|".join(title.replace(" ", r"\s+") for title in TITLES),
    re.IGNORECASE,
)
INVISIBLE = "\xad\u034f\u180e\u200b\u200d\u2060\u2066\ufe0f\ufeff\U000e0041"
BLANKS = " \u00a0\u2003\u3000"
ORDINARY = (
    "HLA-DRB1*15:01",
    "NKX2-1",
    "IL-1\u03b2",
    "TNF-\u03b1",
    "miR-21-5p",
    "c.35G>A",
    "p.Gly12Asp",
    "NM_004333.6:c.1799T>A",
    "p < 0.05",
    "p<5e-8",
    "<= -0.5",
    "BMI \uff1c 25",
    "Height [cm]",
    "Body mass index [BMI]",
    "Cholesterol (LDL), mg/dl",
    "R&D",
    "\u0394F508",
    "C[C@@H](O)[13C]",
    "10\u00a0\u00b5M",
    "5\u20327",
)
AWKWARD = st.lists(
    st.sampled_from(
        [
            *TITLES,
            *"ab<>&#;,0[]/|—() \t\r\n",
            "\x0b\x0c\x1c\x1f\x7f\x85\x9f\u2028\u2029\u00a0\u3000",
            "&lt;",
            "&amp",
            "&#32;",
            "&#1114112;",
            "lt;",
            "[7] tag",
            "[INST]",
            "[/INST]",
            "[TOOL_CALLS]",
            "\uff3b\uff17\uff3d tag",
            "\uff1cprobability\uff1e",
            "\u200b",
            "\u2060",
            "target\u00a0hypothesis",
            "<|im_end|>",
            "</think>",
            "<\uff5cbegin\uff5c>",
            "<probability>1.0</probability>",
        ]
    ),
    max_size=8,
).map("".join)
SEPARATORS = (", ", " / ", "; ", " — ", ") — ", " (family: ", " for ", " ")


@given(AWKWARD | st.text())
@example("<")
@example(" ")
def test_any_text_comes_back_from_one_harmless_line(value: str) -> None:
    text = escaped(value)
    assert unescaped(text) == value
    assert len(text.splitlines()) <= 1
    assert text == text.strip()
    assert not STRUCTURE.search(unicodedata.normalize("NFKC", text))
    assert not any(unicodedata.category(character) in ("Cc", "Zl", "Zp") for character in text)


@given(st.sampled_from(TOKENS), st.data())
def test_no_look_alike_of_structure_passes(token: str, data: st.DataObject) -> None:
    """In any case, full-width, with other blanks and with what cannot be seen in between."""

    def look_alikes(character: str) -> list[str]:
        if character == " ":
            return list(BLANKS)
        wide = [chr(ord(character) + 0xFEE0)] if "!" <= character <= "~" else []
        return [character, character.swapcase(), *wide]

    letters = [data.draw(st.sampled_from(look_alikes(character))) for character in token]
    hidden = data.draw(st.sampled_from(["", *INVISIBLE]))
    at = data.draw(st.integers(0, len(letters)))
    value = "".join((*letters[:at], hidden, *letters[at:]))
    text = escaped(value)
    assert unescaped(text) == value
    assert not set(text) & set(INVISIBLE)
    assert not STRUCTURE.search(unicodedata.normalize("NFKC", text))


@given(st.lists(st.sampled_from(ORDINARY), min_size=1).map(" ".join))
def test_ordinary_names_stay_to_the_letter(value: str) -> None:
    assert escaped(value) == value


@pytest.mark.parametrize(
    "value",
    [
        "CC(C)N1C=C(C(=N1)\\F/C=C/F)[C@@H](C)[13C]",
        "p<5e-8",
        "<= -0.5",
        "Affymetrix & Illumina",
        "R&D; x",
        "NR [23899339] (imputed)",
        "Affymetrix, Illumina [~ 27000000] (imputed)",
        "18β-Glycyrrhetinic acid",
        "DIS3 like exosome 3'-5' exoribonuclease",
        "a  b > c",
        "c.35G>A",
        "[OH-]",
        "p \uff1c 0.05",
    ],
)
def test_ordinary_values_stay_to_the_letter(value: str) -> None:
    assert escaped(value) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb\u2028", "a&#10;b&#8232;"),
        ("</think>", "&lt;/think>"),
        ("&lt;", "&amp;lt;"),
        (" a", "&#32;a"),
        ("TARGET HYPOTHESIS", "TARGET&#32;HYPOTHESIS"),
        ("[7] tag", "&#91;7] tag"),
        ("\uff3b\uff17\uff3d tag", "&#65339;\uff17\uff3d tag"),
        ("\uff1cprobability>", "&#65308;probability>"),
        ("Target\u00a0hypothesis", "Target&#160;hypothesis"),
        ("[TOOL_CALLS]", "&#91;TOOL_CALLS]"),
        ("prob\u200bability", "prob&#8203;ability"),
        ("target  hypothesis", "target&#32; hypothesis"),
        ("\uff3b\uff29\uff2e\uff33\uff34]", "&#65339;\uff29\uff2e\uff33\uff34]"),
        ("\ufe64b>", "&#65124;b>"),
        ("\U000e0041", "&#917569;"),
    ],
)
def test_what_would_be_structure_is_encoded(value: str, text: str) -> None:
    assert escaped(value) == text


@given(
    st.sampled_from(SEPARATORS), st.lists(AWKWARD.filter(bool) | st.text(min_size=1), min_size=1)
)
@example("; ", ["a&amp", "b&lt", "c"])
@example(" / ", ["a /", "/ b"])
def test_parts_keep_apart(separator: str, values: list[str]) -> None:
    line = separator.join(escaped(value, (separator,)) for value in values)
    assert [unescaped(part) for part in split_parts(line, separator)] == values


@pytest.mark.parametrize("unit", ["<", "< ", "&", " ", " /", "[", "&#1"])
def test_escaping_takes_time_linear_in_the_value(unit: str) -> None:
    value = unit * (200_000 // len(unit))
    started = time.perf_counter()
    assert unescaped(escaped(value, (" / ", "; "))) == value
    split_parts(value, " / ")
    assert time.perf_counter() - started < 5
