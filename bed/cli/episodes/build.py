"""`bed episodes build`: episode files from public tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from bed.errors import DataError

if TYPE_CHECKING:
    from bed.episodes import EpisodeFile

__all__ = ["app", "require_apart", "summarise"]

app = typer.Typer(help="Build an episode file from public tables.", no_args_is_help=True)


class SplitBy(StrEnum):
    """What decides who is held out."""

    LOCUS = "locus"
    DATE = "date"


Out = Annotated[Path, typer.Option(help="Episode file to write.", dir_okay=False)]
Seed = Annotated[int, typer.Option(help="Everything random hangs on it.")]
Most = Annotated[int, typer.Option(help="At most so many, 60:10:30 train, validation and test.")]


def _input(help_text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        help=help_text, dir_okay=False, show_default=False
    )
    return option


@app.command("depmap")
def build_depmap_file(
    out: Out,
    gene_effect: Annotated[
        Path | None, _input("Chronos gene effects: lines as rows, GENE (entrez) as columns.")
    ] = None,
    gene_effect_bins: Annotated[
        Path | None,
        _input("Instead: gene, entrez_id, then a column per line; 2, 1, 0, or -1 for missing."),
    ] = None,
    gene_dependency: Annotated[
        Path | None, _input("Probabilities of dependency, beside --gene-effect.")
    ] = None,
    rnai_bins: Annotated[Path | None, _input("RNAi scores, in the form of the bins.")] = None,
    expression: Annotated[Path | None, _input("Expression, log2(TPM + 1).")] = None,
    copy_number: Annotated[Path | None, _input("Relative copy number (1 is normal).")] = None,
    mutations: Annotated[Path | None, _input("Somatic mutations, one a row.")] = None,
    models: Annotated[
        Path | None, _input("Cell lines: ids, CCLE names, lineages (Model.csv or sample_info).")
    ] = None,
    seed: Seed = 0,
    max_episodes: Most = 8000,
) -> None:
    """Is gene G a dependency of cell line C? From the DepMap tables (csv, csv.gz or parquet)."""
    from bed.episodes.depmap import Tables, build_depmap

    tables = Tables(
        gene_effect=gene_effect,
        gene_effect_bins=gene_effect_bins,
        gene_dependency=gene_dependency,
        rnai_bins=rnai_bins,
        expression=expression,
        copy_number=copy_number,
        mutations=mutations,
        models=models,
    )
    _build(out, tables.given(), lambda report: build_depmap(tables, seed, max_episodes, report))


@app.command("gwas")
def build_gwas_file(
    out: Out,
    associations: Annotated[
        Path, _input("The catalog's table of associations (tsv or parquet, any release).")
    ],
    efo: Annotated[
        Path | None, _input("Its trait mappings: reported trait, EFO term, parent term.")
    ] = None,
    pathways: Annotated[Path | None, _input("Gene sets such as Reactome's (.gmt).")] = None,
    expression: Annotated[
        Path | None, _input("Median TPM of genes by tissue, such as GTEx's (.gct or a table).")
    ] = None,
    split_by: Annotated[
        SplitBy, typer.Option(help="Hold out loci by hash, or the newest publications.")
    ] = SplitBy.LOCUS,
    min_related: Annotated[
        int, typer.Option(help="Fewest related stubs in a pool of 16; small tables have few.")
    ] = 1,
    seed: Seed = 0,
    max_episodes: Most = 8000,
) -> None:
    """Does SNP S (allele A) increase or decrease trait T? From the GWAS Catalog."""
    from bed.episodes.gwas import GwasTables, build_gwas

    tables = GwasTables(associations, efo, pathways, expression)
    by: Literal["locus", "date"] = "date" if split_by is SplitBy.DATE else "locus"
    _build(
        out,
        tables.given(),
        lambda report: build_gwas(tables, seed, max_episodes, by, min_related, report),
    )


@app.command("tahoe", hidden=True)
@app.command("expression")
def build_expression_file(
    out: Out,
    table: Annotated[
        Path, _input("Differential expression (one gene and contrast a row), or z-scores.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="What a column is called, NAME=COLUMN; repeat for several. NAME is gene, "
            "perturbation, context, condition (these two take several columns: condition=dose,"
            "time), log2_fold_change, lfc_se, wald, p_value, p_adjusted, base_mean, z, ensembl_id, "
            "num_treated or num_control; DESeq2's names by default."
        ),
    ] = None,
    perturbation_type: Annotated[str, typer.Option(help="drug or knockout.")] = "drug",
    context_type: Annotated[str, typer.Option(help="What a context is called.")] = "cell line",
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="Leave out rows with COLUMN=VALUE, such as strategy=reverted."),
    ] = None,
    signatures: Annotated[
        Path | None, _input("For a wide table of z-scores: what each of its columns is.")
    ] = None,
    fixed_context: Annotated[
        str | None, typer.Option(help="For a wide table whose columns are perturbations.")
    ] = None,
    drugs: Annotated[Path | None, _input("Drugs: targets, mechanisms (Tahoe-100M).")] = None,
    contexts: Annotated[Path | None, _input("Cell lines and drivers (Tahoe-100M).")] = None,
    classes: Annotated[Path | None, _input("Classes of perturbations as gene sets (.gmt).")] = None,
    seed: Seed = 0,
    max_episodes: Most = 8000,
) -> None:
    """Does drug D, or knocking out gene P, move gene G in cell line C? Also called tahoe."""
    from bed.episodes.expression import Columns, ExpressionTables, build_expression

    tables = ExpressionTables(
        table=table,
        columns=Columns().mapped(column or ()),
        perturbation_type=perturbation_type,
        context_type=context_type,
        leave_out=tuple(leave_out or ()),
        signatures=signatures,
        fixed_context=fixed_context,
        drugs=drugs,
        contexts=contexts,
        classes=classes,
    )
    _build(out, tables.given(), lambda report: build_expression(tables, seed, max_episodes, report))


def _build(
    out: Path,
    inputs: Mapping[str, Path],
    build: Callable[[Callable[[str, int, int], None]], "EpisodeFile"],
) -> None:
    """Build with progress, write the file and say what it holds."""
    from rich.progress import Progress, TaskID

    from bed.episodes import write_episodes

    require_apart(out, inputs.values())
    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(escape(stage), total=total or None)
            bar.update(tasks[stage], completed=done)

        file = build(report)
        write_episodes(out, file)
    summarise(out, file)


def require_apart(out: Path, inputs: Iterable[Path]) -> None:
    """Raise DataError where a file could not be written, or would take the place of an input.

    Args:
        out: the file to write.
        inputs: what is read for it.
    """
    from bed.atomic import require_writable

    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise DataError(f"--out {out} is also an input; name another file")
    require_writable(out)


def summarise(out: Path, file: "EpisodeFile") -> None:
    """Say how many episodes a file holds, what was left out and what fell short.

    Args:
        out: the file.
        file: what it holds.
    """
    console = Console()
    counts = Counter(episode.split for episode in file.episodes)
    parts = ", ".join(f"{counts[split]} {split}" for split in ("train", "validation", "test"))
    console.print(f"{len(file.episodes)} episodes ({parts}) in {out}", soft_wrap=True, markup=False)
    # an import of several domains keeps an account of each
    for domain, info in {"": file.info, **file.info.get("parts", {})}.items():
        of = f"  {domain}: " if domain else "  "
        for title, block in (("left out", "excluded"), ("fell short", "short")):
            for name, num in info.get(block, {}).items():
                console.print(f"{of}{title}: {name}: {num}", soft_wrap=True, markup=False)
        for note in info.get("notes", ()):
            console.print(f"{of}note: {note}", soft_wrap=True, markup=False)
    console.print(f"Audit it with: bed episodes check {out}", soft_wrap=True, markup=False)
