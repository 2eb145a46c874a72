"""``gssl regress`` and ``gssl classify --several``: write numbers or several labels for every node."""

from pathlib import Path

from gssl.cli.classify import check_page, save_model, write_page
from gssl.cli.console import Terminal
from gssl.cli.run import Run
from gssl.io import (
    NumberPredictions,
    SetPredictions,
    list_numbers,
    list_sets,
    write_numbers,
    write_sets,
)
from gssl.io.table_writing import check_outputs
from gssl.selection import audit
from gssl.wording import write_size


def run_regress(
    run: Run, out: Path, report: Path | None, report_data: Path | None, save: Path | None
) -> None:
    """Read the tables, fit, write the outputs, and print a summary."""
    terminal = run.terminal
    check_outputs(out, run.inputs.sources(), report, report_data, save)
    check_page(report, report_data)
    terminal.plan = ("reading", "choosing", "writing", *(() if report is None else ("report",)))
    model, problem = run.prepare()
    run.fit(model, problem)
    predictions = list_numbers(model, problem.node_ids)
    write_any_table(out, predictions, terminal)
    terminal.say(model.explain_)
    audited = audit(model)
    if audited.n_doubtful:
        terminal.say(f"{audited.summary} gssl audit ranks them.")
    if save is not None:
        save_model(model, save, problem, terminal)
        terminal.say(f"model: {save} ({write_size(save.stat().st_size)})")
    terminal.say(f"{len(predictions):,} predictions: {out}")
    if report is not None:
        write_page(report, model, problem, None, terminal, data=report_data)
    terminal.finish()


def run_classify_sets(run: Run, out: Path, save: Path | None) -> None:
    """Read the tables, fit to several labels per node, write the outputs, and print a summary."""
    terminal = run.terminal
    check_outputs(out, run.inputs.sources(), None, save)
    terminal.plan = ("reading", "choosing", "writing")
    model, problem = run.prepare()
    run.fit(model, problem)
    predictions = list_sets(model, problem.node_ids)
    write_any_table(out, predictions, terminal)
    terminal.say(model.explain_)
    if save is not None:
        save_model(model, save, problem, terminal)
        terminal.say(f"model: {save} ({write_size(save.stat().st_size)})")
    terminal.say(f"{len(predictions):,} predictions: {out}")
    terminal.finish()


def write_any_table(out: Path, predictions: NumberPredictions | SetPredictions, terminal: Terminal) -> None:
    """Write numbers or label sets as one stage, and note texts that were changed for the format."""
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        if isinstance(predictions, SetPredictions):
            terminal.note(*write_sets(out, predictions))
        else:
            terminal.note(*write_numbers(out, predictions))
