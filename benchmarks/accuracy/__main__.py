"""``python -m benchmarks.accuracy``: quality of the automatic choice and its confidences."""

from typing import Any

import click

from gssl.cli.options import UserPath, exit_on_error


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "what",
    type=click.Choice(["selection", "calibration", "conformal", "suggest", "numbers", "sets", "relations"]),
)
@click.option(
    "--graphs", metavar="A,B,…", help="Names as in gssl datasets list; each bench has its own.", default=""
)
@click.option(
    "--methods",
    metavar="A,B,…",
    help="Not for suggest; each bench has its own. The networks GCN and SAGE are run only if named; they "
    "need torch.",
    default="",
)
@click.option("--draws", type=click.IntRange(min=1), default=10, show_default=True, help="Draws of labels.")
@click.option(
    "--per-class",
    type=click.IntRange(min=1),
    metavar="N",
    help="For selection: draw N labels per class on every graph instead of its own splits.",
)
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="S",
    help="For selection and numbers: draw this share of all labelled nodes, such as 0.1, and test on "
    "the rest.",
)
@click.option("--quick", is_flag=True, help="Two draws only.")
@click.option("--out", type=UserPath(), help="A folder for a Markdown page.")
@click.option(
    "--records",
    type=UserPath(),
    help="A .jsonl file of finished runs: what the same code has run is kept; not for suggest.",
)
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), metavar="S", default=0, show_default=True)
def main(what: str, quick: bool, draws: int, **options: Any) -> None:
    """Measure what the automatic choice, confidences, label sets or suggestions are worth.

    \b
    Examples:
      python -m benchmarks.accuracy selection --records selection.jsonl
      python -m benchmarks.accuracy selection --per-class 1 --graphs graphs/cora_ml --methods auto,GGCM
      python -m benchmarks.accuracy selection --share 0.1 --graphs planetoid/pubmed --methods auto,trees,GCN
      python -m benchmarks.accuracy calibration --graphs planetoid/cora,graphs/amazon_photo
      python -m benchmarks.accuracy conformal --draws 20 --out results
      python -m benchmarks.accuracy suggest --quick
      python -m benchmarks.accuracy numbers --share 0.3 --draws 3
      python -m benchmarks.accuracy sets --draws 3
      python -m benchmarks.accuracy relations --draws 3
    """
    from benchmarks.accuracy.bench import run_bench

    lists = {name: _listed(options.pop(name)) for name in ("graphs", "methods")}
    with exit_on_error():
        run_bench(what, draws=min(draws, 2) if quick else draws, **lists, **options)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.accuracy")
