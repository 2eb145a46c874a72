"""``gssl embed``: files in, an embedding for every node out."""

from pathlib import Path

from gssl.cli.choice import embedder_names, make
from gssl.cli.console import Talk
from gssl.cli.inputs import Inputs, check_outputs, read_problem, refuse_if_too_large
from gssl.io import write_embeddings
from gssl.io.predictions import EMBEDDINGS
from gssl.io.table_writing import check_suffix


def run_embed(inputs: Inputs, out: Path, method: str, depth: int | None, seed: int, talk: Talk) -> None:
    """Read, embed, write."""
    check_suffix(out, EMBEDDINGS)
    # beside .npy stand the ids
    check_outputs(
        [out, out.with_suffix(".ids.npy") if out.suffix.lower() == ".npy" else None], inputs.sources()
    )
    model = make(embedder_names()[method], seed)
    if inputs.features is None and model._uses_features:
        raise ValueError(f"embeddings of {method} are made of features: give --features.")
    if depth is not None and "depth" not in model.get_params():
        raise ValueError(f"--depth counts iterations, of which {method} has none: leave it out.")
    problem = read_problem(inputs, talk)
    if depth is not None:
        model.set_params(depth=depth)
    refuse_if_too_large(problem, model)
    with talk.step(f"fitting {type(model).__name__}"):
        U = model.fit_transform(problem.features, adjacency=problem.adjacency)
    with talk.step("writing embeddings"):
        notes = write_embeddings(out, problem.node_ids, U)
    for note in notes:
        talk.note(note)
    talk.say(f"{U.shape[0]:,} embeddings of {U.shape[1]:,} numbers: {out}")
