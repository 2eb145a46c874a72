"""``gssl predict`` and ``gssl embed``: label a new graph with a saved model, or embed a graph."""

from pathlib import Path
from typing import Any

from gssl.cli.classify import abstain, write_table
from gssl.cli.console import Terminal
from gssl.cli.regress import write_any_table
from gssl.cli.run import Run
from gssl.io import NumberPredictions, Predictions, predict_new, write_embeddings
from gssl.io.new_nodes import refuse_other_nodes
from gssl.io.predictions import EMBEDDINGS
from gssl.io.table_writing import check_outputs
from gssl.methods.base import refuse_if_too_large
from gssl.report import classification_table
from gssl.selection import CalibratedClassifier, embedder
from gssl.selection.views import reduce_features


def run_predict(run: Run, path: Path, out: Path, probabilities: bool) -> None:
    """Load a model, read a graph, predict, and write; leave labels empty where the model abstains."""
    inputs, terminal = run.inputs, run.terminal
    check_outputs(out, [*inputs.sources(), str(path)])
    saved = run.load(path)
    # the graph of a store is whole, and not copied
    known = saved.problem if inputs.graph is None else None
    if known is None:
        refuse_other_nodes(saved.model, str(path))
    advice = "give those of the new graph with --features."
    inputs.check_features(saved.model, f"{path} learned from features: {advice}")
    problem = run.read(preparation=saved.preparation, known=known)
    with terminal.stage("predicting"), terminal.step(""):
        features = inputs.features
        names = str(path), " and ".join(features.values()) if isinstance(features, dict) else str(features)
        predictions = predict_new(
            saved.model, problem, known, knn=inputs.knn, strict=inputs.strict, names=names
        )
    if not isinstance(predictions, Predictions):
        if run.choice.abstain is not None or probabilities:
            what = "numbers" if isinstance(predictions, NumberPredictions) else "several labels"
            raise ValueError(f"{path} predicts {what}: leave out --abstain and --probabilities.")
        write_any_table(out, predictions, terminal)
    else:
        predictions = abstain(run, predictions, predictions.reached)
        if run.choice.abstain is not None:
            _note_uncalibrated(saved.model, path, terminal)
        with terminal.stage("writing") as stage:
            stage.detail = str(out)
            write_table(out, predictions, terminal, probabilities)
        terminal.out.print(classification_table(predictions, "Labels by class"))
    terminal.say(f"{len(predictions):,} predictions: {out}")
    terminal.finish()


def _note_uncalibrated(model: Any, path: Path, terminal: Terminal) -> None:
    if not isinstance(model, CalibratedClassifier):
        terminal.note(f"the confidence of {path} is not calibrated: save it with gssl classify --calibrate")
    elif not len(model.held_out_codes_):
        terminal.note(
            f"the confidence of {path} is not calibrated: every class had one label only when it "
            "was fitted, so none could be hidden; label a second node of some class and fit it again"
        )


def run_embed(run: Run, out: Path, depth: int | None, dimensions: str) -> None:
    """Read, embed all nodes, and write the embeddings."""
    inputs, method, terminal = run.inputs, run.choice.method, run.terminal
    width = _read_width(dimensions)
    # the ids of a .npy file are written beside it
    ids = out.with_suffix(".ids.npy") if out.suffix.lower() == ".npy" else None
    check_outputs(out, inputs.sources(), ids, formats=EMBEDDINGS)
    model = embedder(method, random_state=run.choice.seed)
    inputs.check_features(model, f"{method} embeds features: give --features.")
    if depth is not None:
        if "depth" not in model.get_params():
            raise ValueError(f"{method} has no iterations for --depth to count: leave it out.")
        model.set_params(depth=depth)
    run.where.check(method, model)
    problem = run.read()
    X = problem.features
    if model.uses_features and X is not None and width is not None and X.shape[1] > width:
        with terminal.stage("reducing"):
            problem = reduce_features(problem, width)
    refuse_if_too_large(model, problem)
    with run.where.execution(), terminal.stage("fitting") as stage, terminal.step(""):
        stage.detail = type(model).__name__
        U = model.fit_transform(problem.features, adjacency=problem.adjacency)
    with terminal.stage("writing") as stage:
        stage.detail = str(out)
        notes = write_embeddings(out, problem.node_ids, U)
    terminal.note(*notes)
    where = f"{out}" if ids is None else f"{out}, and their ids: {ids}"
    terminal.say(f"{U.shape[0]:,} embeddings of {U.shape[1]:,} numbers: {where}")
    terminal.finish()


def _read_width(dimensions: str) -> int | None:
    if dimensions == "all":
        return None
    if not dimensions.isdecimal() or int(dimensions) == 0:
        raise ValueError(f"--dimensions must be a whole number of at least 1, or all, not {dimensions!r}.")
    return int(dimensions)
