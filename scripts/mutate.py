"""Mutation testing: break the code in one place at a time, and check that tests fail.

Every mutant changes one line in a copy of ``src`` and ``reproduction``, and names the tests that should fail
then. The script prints a table and exits with 1 if a mutant survives, if tests fail without a mutant, or if
a line to change is no longer there. A full run takes a few minutes::

    python scripts/mutate.py            # all
    python scripts/mutate.py restart    # those whose name contains this word
"""

import multiprocessing
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).resolve().parents[1]
# preloaded by the fork server, so that the process of each mutant starts with them
LOADED = ["numpy", "scipy.sparse.csgraph", "scipy.optimize", "sklearn.base", "numba", "pytest"]
METHODS = "tests/methods"
LABEL_SPACE = f"{METHODS}/test_label_space.py"


@dataclass(frozen=True)
class Mutant:
    """A change of ``old``, which must occur once in the file, to ``new``, and the tests that should fail.

    The file is relative to ``src/gssl``, or begins with ``reproduction/``.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = [
    Mutant(
        "sign of the supervised embedding",
        "operators/supervision.py",
        "nodes, -eta_sup * R, W)",
        "nodes, eta_sup * R, W)",
        ("tests/operators/test_supervision.py",),
    ),
    Mutant(
        "factor 2 of the squared loss",
        "methods/step_sizes.py",
        'factor = 2.0 if loss == "squared" else 1.0',
        "factor = 1.0",
        (f"{METHODS}/test_ogc.py::test_ogc",),
    ),
    Mutant(
        "order of the two steps: SEB by the old predictor",
        "methods/step_sizes.py",
        "return W_next, Z_next, eta_w",
        "return W_next, Z_L, eta_w",
        (f"{METHODS}/test_ogc.py::test_ogc",),
    ),
    Mutant(
        "no self-loop in the degree",
        "operators/convolution.py",
        "1.0 / np.sqrt(degrees + 1.0)",
        "1.0 / np.sqrt(np.maximum(degrees, 1.0))",
        ("tests/operators/test_convolution.py",),
    ),
    Mutant(
        "normalised on one side only",
        "operators/convolution.py",
        "scale[rows] * A.data[part] * columns[A.indices[part]]",
        "scale[rows] * A.data[part] * scale[rows]",
        ("tests/operators/test_convolution.py",),
    ),
    Mutant(
        "off by one in OGC's decay",
        "methods/ogc.py",
        "self.decay ** (k - 1)",
        "self.decay**k",
        (f"{METHODS}/test_ogc.py::test_ogc",),
    ),
    Mutant(
        "off by one in GGC's decay",
        "methods/ggc.py",
        "self.igc_beta * self.igc_decay ** (k - 1)",
        "self.igc_beta * self.igc_decay**k",
        (f"{METHODS}/test_ggc.py::test_ggc_and_ggcm",),
    ),
    Mutant(
        "dropped restart",
        "methods/linear_filters.py",
        "lazy_convolution(graph.A_hat, U) + self.alpha * X",
        "lazy_convolution(graph.A_hat, U) + 0.0 * X",
        (f"{METHODS}/test_linear_filters.py::test_ppr",),
    ),
    Mutant(
        "gather and restart not exchanged in the transposed program",
        "operators/program.py",
        "gather=step.restart,",
        "gather=step.gather,",
        (f"{LABEL_SPACE}::test_transposed_filter_embeds_single_rows",),
    ),
    Mutant(
        "mean over scales divided by one too many",
        "methods/linear_filters.py",
        "share = (1.0 - self.alpha) / max(1, self.depth)",
        "share = (1.0 - self.alpha) / (1 + self.depth)",
        (f"{METHODS}/test_linear_filters.py::test_ssgc",),
    ),
    Mutant(
        "leave-one-out without the correction",
        "methods/ridge.py",
        "residual /= rest[:, None]",
        "residual /= 1.0",
        ("tests/methods/test_ridge.py",),
    ),
    Mutant(
        "class mass the wrong way round",
        "methods/ridge.py",
        "mass / np.maximum(rest, mass / _MOST_RAISED)",
        "np.maximum(rest, mass / _MOST_RAISED) / mass",
        ("tests/methods/test_ridge.py",),
    ),
    Mutant(
        "unscaled column sum in the complement",
        "operators/mixture.py",
        "sums = column_sums(t, U)",
        "sums = column_sums(np.ones_like(t), U)",
        ("tests/operators/test_inverse.py",),
    ),
    Mutant(
        "hidden labels seen by the links",
        "selection/trial.py",
        "shown = ~np.isin(self.evaluated, hidden)",
        "shown = np.ones(len(self.evaluated), dtype=bool)",
        ("tests/selection/test_trial.py",),
    ),
    Mutant(
        "pseudo-labels that count whether they are sure or not",
        "selection/self_training.py",
        "sure = np.square(",
        "sure = 0.0 * np.square(",
        ("tests/selection/test_self_training.py",),
    ),
    Mutant(
        "a few nodes predicted without the degrees of the whole graph",
        "methods/neighbourhood.py",
        "normalized_adjacency(part.links, X.dtype, part.degrees)",
        "normalized_adjacency(part.links, X.dtype)",
        (f"{METHODS}/test_ogc_unseen.py",),
    ),
    Mutant(
        "anchors left unsorted",
        "methods/inputs.py",
        "return np.unique(chosen)",
        "return chosen",
        ("tests/methods/test_ogc.py",),
    ),
    Mutant(
        "labels swapped between rows",
        "methods/labels.py",
        "rows[np.arange(len(codes)), codes] = 1",
        "rows[np.arange(len(codes)), codes[::-1]] = 1",
        ("tests/methods/test_heads.py",),
    ),
    Mutant(
        "spreading normalised by D instead of its root",
        "methods/recurrences.py",
        "np.divide(1.0, np.sqrt(degrees),",
        "np.divide(1.0, degrees,",
        (f"{METHODS}/test_propagation.py::test_label_spreading",),
    ),
    Mutant(
        "propagation content with a small residual",
        "methods/recurrences.py",
        "if state.part <= tol and accept(state.solution):",
        "if state.part <= tol:",
        ("tests/properties/test_any_graph.py::test_behind_weak_bridges_labels_mix_as_before_them",),
    ),
    Mutant(
        "labels that were never hidden counted as tested",
        "selection/hidden_labels.py",
        "return float(np.average(self.hits(scores)[tested], weights=self.labels.weights[tested]))",
        "return float(np.average(self.hits(scores), weights=self.labels.weights))",
        ("tests/selection/test_model_search.py",),
    ),
    Mutant(
        "members that share a hop they do not have",
        "selection/ensemble.py",
        "return np.asarray(powers[power] @ flat)",
        "return np.asarray(powers.mean(axis=0) @ flat)",
        ("tests/selection/test_self_training.py",),
    ),
    Mutant(
        "Chebyshev steps that forget the past",
        "methods/recurrences.py",
        "Mixture(keep=omega), past=1.0 - omega))",
        "Mixture(keep=omega)))",
        (f"{METHODS}/test_propagation.py::test_label_spreading",),
    ),
    Mutant(
        "hidden labels seen by the fit that is judged",
        "evaluation/holdout.py",
        "    masked[hidden] = UNLABELLED\n",
        "",
        ("tests/evaluation/test_holdout.py",),
    ),
    Mutant(
        "labels of every part shown",
        "datasets/dataset.py",
        "            nodes = there[part]\n",
        "            nodes = np.concatenate(list(there.values()))\n",
        ("tests/datasets/test_dataset.py::test_mask_labels_shows_the_asked_parts_only",),
    ),
    Mutant(
        "validation labels train the head",
        "methods/embedding_classifier.py",
        "np.setdiff1d(np.flatnonzero(codes != UNLABELLED), held_out)\n        if",
        "np.flatnonzero(codes != UNLABELLED)\n        if",
        ("tests/methods/test_heads.py",),
    ),
    Mutant(
        "negative weights pass",
        "graph/simplify.py",
        "if low >= 0 and high < np.inf:",
        "if high < np.inf:",
        ("tests/graph/test_simplify.py",),
    ),
    Mutant(
        "directions kept",
        "graph/simplify.py",
        "simple = simple.maximum(simple.T.tocsr())",
        "pass",
        ("tests/graph/test_simplify.py",),
    ),
    Mutant(
        "reached are the labelled nodes only",
        "graph/components.py",
        "    return reached[component]",
        "    return np.isin(np.arange(len(component)), nodes)",
        ("tests/graph/test_components.py",),
    ),
    Mutant(
        "an interrupted pass goes on",
        "operators/_kernels/threads.py",
        "while not failed and",
        "while",
        ("tests/operators/test_threads.py",),
    ),
    Mutant(
        "less is more ignores its anchors",
        "reproduction/measures.py",
        "extra = {} if anchors is None else {",
        "extra = {} if True else {",
        ("tests/reproduction/test_measures.py",),
    ),
    Mutant(
        "training error doubled",
        "reproduction/measures.py",
        "2.0 * model._steps.loss[-1] / size",
        "4.0 * model._steps.loss[-1] / size",
        ("tests/reproduction/test_measures.py",),
    ),
    Mutant(
        "validation labels train a head of the train budget",
        "reproduction/measures.py",
        "train = np.concatenate([nodes[part] for part in parts])",
        'train = np.concatenate([nodes["train"], nodes["val"]])',
        ("tests/reproduction/test_measures.py",),
    ),
    Mutant(
        "validation labels train a classifier of the train budget",
        "reproduction/measures.py",
        "[split], parts=BUDGETS[cell.budget]",
        '[split], parts=("train", "val")',
        ("tests/reproduction/test_measures.py",),
    ),
    Mutant(
        "the worst candidate on validation nodes chosen",
        "reproduction/measures.py",
        "return max(tried, key=",
        "return min(tried, key=",
        ("tests/reproduction/test_measures.py",),
    ),
    Mutant(
        "SEB alone is all of OGC",
        "reproduction/ablation.py",
        "_SEB: ogc_depths(_CORA, beta=0.0)",
        "_SEB: ogc_depths(_CORA)",
        ("tests/reproduction/test_ablation.py",),
    ),
    Mutant(
        "a claim judged by the wrong sign",
        "reproduction/ablation.py",
        "best[_WHOLE] > best[row]",
        "best[_WHOLE] < best[row]",
        ("tests/reproduction/test_ablation.py",),
    ),
    Mutant(
        "published numbers of the first column everywhere",
        "reproduction/budget.py",
        "PUBLISHED[row][k] if row in PUBLISHED",
        "PUBLISHED[row][0] if row in PUBLISHED",
        ("tests/reproduction/test_published.py",),
    ),
    Mutant(
        "published depths read backwards",
        "reproduction/depth.py",
        "zip(DEPTHS, published, strict=True)",
        "zip(DEPTHS, published[::-1], strict=True)",
        ("tests/reproduction/test_published.py",),
    ),
    Mutant(
        "the seed of a cell ignored",
        "reproduction/spec.py",
        "model.set_params(random_state=seed)",
        "model.set_params(random_state=0)",
        ("tests/reproduction/test_spec.py",),
    ),
    Mutant(
        "runs by earlier code taken for current",
        "reproduction/store.py",
        " and self.commit(cell, seed) == code_commit()",
        "",
        ("tests/reproduction/test_main.py",),
    ),
    Mutant(
        "a repeated run compared with itself",
        "reproduction/check.py",
        "store.values(job.cell, job.seed) or {}, compute(job)",
        "compute(job), compute(job)",
        ("tests/reproduction/test_main.py",),
    ),
    Mutant(
        "a difference taken the wrong way round",
        "reproduction/summary.py",
        "round(round(ours, entry.digits) - entry.published, entry.digits)",
        "round(entry.published - round(ours, entry.digits), entry.digits)",
        ("tests/reproduction/test_summary.py",),
    ),
    Mutant(
        "distances between embeddings without their products",
        "reproduction/reconstruction.py",
        "block *= -2.0",
        "block *= -1.0",
        ("tests/reproduction/test_reconstruction.py::test_it_is_what_sorting_gives",),
    ),
    Mutant(
        "p and q of walks swapped",
        "reproduction/walks.py",
        "states, 1.0 / p, 1.0 / q, walks)",
        "states, 1.0 / q, 1.0 / p, walks)",
        ("tests/reproduction/test_walks.py",),
    ),
    Mutant(
        "a field that subtracts its neighbours",
        "operators/field.py",
        "residual = free * (S @ given)",
        "residual = -free * (S @ given)",
        ("tests/operators/test_field.py",),
    ),
    Mutant(
        "residuals that see their own fold",
        "selection/residuals.py",
        "shown = [np.setdiff1d(np.arange(len(e)), fold) for fold in folds]",
        "shown = [np.arange(len(e)) for _ in folds]",
        ("tests/selection/test_residuals.py",),
    ),
    Mutant(
        "errors that narrow their own interval",
        "selection/auto_regressor.py",
        "np.setdiff1d(np.arange(len(nodes)), part)",
        "np.arange(len(nodes))",
        ("tests/selection/test_auto_regressor.py",),
    ),
    Mutant(
        "labels seen by the trees that judge them",
        "selection/trees.py",
        "trees = self.fit(fold, self._size, n_estimators=_FOLD_TREES)",
        "trees = self.fit(fold[:0], self._size, n_estimators=_FOLD_TREES)",
        ("tests/selection/test_auto_sets.py",),
    ),
    Mutant(
        "scores of several labels without an intercept",
        "evaluation/targets.py",
        "    has_intercept = True\n",
        "    has_intercept = False\n",
        ("tests/selection/test_auto_sets.py",),
    ),
    Mutant(
        "a softmax map judged by labels that it has seen",
        "methods/softmax.py",
        "logits + _without_own(F, Y, w, logits, penalty)",
        "logits",
        ("tests/methods/test_softmax.py", "tests/selection/test_auto.py"),
    ),
    Mutant(
        "test nodes seen by fit",
        "reproduction/reddit.py",
        "if np.intersect1d(first, test).size:",
        "if False:",
        ("tests/reproduction/test_reddit.py",),
    ),
    Mutant(
        "links followed in one direction only",
        "operators/named.py",
        '"in": filters(csr_array(R.T), s_in, s_out)',
        '"in": filters(R, s_out, s_in)',
        ("tests/operators/test_named.py",),
    ),
    Mutant(
        "a directed operator that is its own transpose",
        "selection/candidates.py",
        "filters[TRANSPOSED[kind]] if directed",
        "filters[kind] if directed",
        ("tests/operators/test_named.py",),
    ),
    Mutant(
        "relations added up in their union",
        "graph/adjacency.py",
        "total.maximum(part)",
        "total + part",
        ("tests/graph/test_adjacency.py",),
    ),
    Mutant(
        "finished work of other relations taken over",
        "selection/auto.py",
        "execution.checkpoint(X, A, *relations_of(A).items(), codes)",
        "execution.checkpoint(X, A, codes)",
        ("tests/selection/test_relations.py",),
    ),
    Mutant(
        "trees that count all links alike",
        "selection/neighbour_columns.py",
        "self.walks = [random_walk(links) for links in self.links]",
        "self.walks = [random_walk(A) for links in self.links]",
        ("tests/selection/test_relations.py::test_columns_of_a_relation_are_means_over_its_neighbours",),
    ),
    Mutant(
        "residuals propagated over all links",
        "selection/residuals.py",
        'field_operator(links_of(A, operator_name("smooth", relation)) if relation else A)',
        "field_operator(A)",
        ("tests/selection/test_relations.py",),
    ),
    Mutant(
        "the smaller of two weights counts",
        "io/pair_merging.py",
        "np.maximum.reduceat(sums,",
        "np.minimum.reduceat(sums,",
        ("tests/io/test_problem.py",),
    ),
    Mutant(
        "links of weight zero stay",
        "io/pair_merging.py",
        "        kept &= weights != 0\n",
        "        kept &= weights >= 0\n",
        ("tests/io/test_pair_merging.py",),
    ),
    Mutant(
        "missing cells filled with the mean",
        "io/preparation.py",
        "median[j] = np.median(values)",
        "median[j] = np.mean(values)",
        ("tests/io/test_preparation.py",),
    ),
    Mutant(
        "labels of tables in another order",
        "io/joining.py",
        "y[node_numbers[labels.name, Labels]] = labels.labels",
        "y[node_numbers[labels.name, Labels]] = labels.labels[::-1]",
        ("tests/io/test_problem.py",),
    ),
    Mutant(
        "a given label replaced by the prediction",
        "io/predictions.py",
        "np.where(given, labels, best)",
        "np.where(given, best, best)",
        ("tests/io/test_predictions.py",),
    ),
    Mutant(
        "given labels withheld",
        "io/predictions.py",
        "~np.asarray(informed)) & ~predictions.given",
        "~np.asarray(informed))",
        ("tests/io/test_predictions.py",),
    ),
    Mutant(
        "white space is a label",
        "wording.py",
        "    text = text.strip()\n    return not text or",
        "    return not text or",
        ("tests/package/test_wording.py",),
    ),
    Mutant(
        "a store with any arrays is opened",
        "io/graph_store.py",
        "part.min() >= 0 and part.max() <",
        "part.min() >= 0 or part.max() <",
        ("tests/io/test_graph_store.py",),
    ),
    Mutant(
        "a model of any format is read",
        "io/models.py",
        "if not _OLDEST <= version <= VERSION:",
        "if version < _OLDEST:",
        ("tests/io/test_models.py",),
    ),
    Mutant(
        "a resume folder of other inputs taken over",
        "scale/checkpoint.py",
        'elif not isinstance(owner, dict) or owner.get("identity") != known:',
        "elif not isinstance(owner, dict):",
        ("tests/scale/test_checkpoint.py",),
    ),
    Mutant(
        "kilobytes of 1024 bytes",
        "scale/memory.py",
        '"k": 10**3',
        '"k": 1024',
        ("tests/scale/test_memory.py",),
    ),
    Mutant(
        "slabs written to the wrong columns",
        "scale/results.py",
        "file.offset + columns.start * column_bytes",
        "file.offset + columns.stop * column_bytes",
        ("tests/scale/test_results.py",),
    ),
    Mutant(
        "records of a journal without a checksum",
        "label/journal.py",
        "    content = unseal(line)\n",
        "    content = unseal(line) or line\n",
        ("tests/label/test_journal.py",),
    ),
    Mutant(
        "half a record left after a full disk",
        "label/journal.py",
        "            self._file.seek(end)\n            self._file.truncate()\n",
        "            self._file.seek(end)\n",
        ("tests/label/test_journal.py",),
    ),
    Mutant(
        "an address of the page opens it twice",
        "label/server.py",
        "            self._tokens.remove(token)\n",
        "            self._tokens.discard(token) if token not in self._tokens else None\n",
        ("tests/label/test_server.py",),
    ),
    Mutant(
        "pickles opened whatever they hold",
        "datasets/restricted_pickle.py",
        "if sha256(content).hexdigest() != known.get(path.name):",
        "if path.name not in known:",
        ("tests/datasets/test_restricted_pickle.py",),
    ),
    Mutant(
        "a calibration error with its sign",
        "evaluation/reliability.py",
        "b.count * abs(b.accuracy - b.confidence)",
        "b.count * (b.accuracy - b.confidence)",
        ("tests/evaluation/test_reliability.py",),
    ),
    Mutant(
        "label sets that do not count themselves",
        "selection/conformal.py",
        "np.ceil((n_scores + 1) * (1.0 - miscoverage) - 1e-9)",
        "np.ceil(n_scores * (1.0 - miscoverage) - 1e-9)",
        ("tests/selection/test_conformal.py",),
    ),
    Mutant(
        "nearest neighbours on one side only",
        "graph/neighbors.py",
        "return directed.maximum(directed.T.tocsr())",
        "return directed",
        ("tests/graph/test_neighbors.py",),
    ),
    Mutant(
        "no self-loop in a layer's degree",
        "torch/layers.py",
        "links.degrees(links.weight) + 1.0)",
        "links.degrees(links.weight))",
        ("tests/torch/test_layers.py",),
    ),
    Mutant(
        "errors end a command with success",
        "cli/options.py",
        "    code = 2\n",
        "    code = 0\n",
        ("tests/cli/test_options.py",),
    ),
    Mutant(
        "relations that cost nothing",
        "selection/relations.py",
        "SURPRISE + float(np.log(len(relations)))",
        "0.0",
        ("tests/selection/test_relations.py::test_noise_in_many_kinds_promises_nothing",),
    ),
]


def judge(source: str, tests: tuple[str, ...]) -> None:
    """Run tests on the code in a folder, and exit with pytest's exit code."""
    import pytest

    sys.dont_write_bytecode = True  # it is matched by seconds and size, which two mutants may share
    sys.path.insert(0, source)
    os.environ["PYTHONPATH"] = source
    os.chdir(ROOT)
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    import gssl
    import reproduction

    # both are imported first, because pytest puts the root of the repository before the mutant in sys.path
    options = ["-x", "-q", "-m", "not slow", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    code = int(pytest.main([*options, *tests]))
    # fail if pytest has tested other code than the mutant
    modules = (sys.modules[package.__name__] for package in (gssl, reproduction))
    os._exit(code if all(Path(str(p.__file__)).is_relative_to(source) for p in modules) else 99)


def run(source: Path, tests: tuple[str, ...]) -> int:
    """Run :func:`judge` in a new process, without traces of other mutants, and return its exit code."""
    child = multiprocessing.get_context("forkserver").Process(target=judge, args=(str(source), tests))
    child.start()
    child.join()
    return int(child.exitcode or 0)


def break_and_judge(mutant: Mutant, source: Path) -> str:
    """Apply a mutant, run its tests, and return the verdict: caught, MISSED, STALE or ERROR."""
    path = source / (mutant.file if mutant.file.startswith("reproduction/") else f"gssl/{mutant.file}")
    text, stamp = path.read_text(encoding="utf-8"), path.stat()
    if text.count(mutant.old) != 1:
        return f"STALE: its text occurs {text.count(mutant.old)} times in {mutant.file}"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        code = run(source, mutant.tests)
    finally:
        path.write_text(text, encoding="utf-8")
        # numba's cache depends on the modification time of the source
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    return {0: "MISSED", 1: "caught"}.get(code, f"ERROR: pytest ended with {code}")


def main(words: list[str]) -> int:
    """Test all mutants, or those whose name contains one of the words."""
    mutants = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    multiprocessing.set_forkserver_preload(LOADED)
    with tempfile.TemporaryDirectory(prefix="gssl-mutants-") as folder:
        source = Path(folder) / "src"
        # with numba's cache, which stays valid because copy2 keeps modification times
        shutil.copytree(ROOT / "src", source, copy_function=shutil.copy2)
        shutil.copytree(ROOT / "reproduction", source / "reproduction", copy_function=shutil.copy2)
        whole = run(source, tuple(dict.fromkeys(test for m in mutants for test in m.tests)))
        if whole:
            print(f"the tests fail (pytest ended with {whole}) before anything is broken.")  # noqa: T201
            return 1
        survivors = 0
        for mutant in mutants:
            start = perf_counter()
            verdict = break_and_judge(mutant, source)
            survivors += verdict != "caught"
            print(f"{verdict:8}{perf_counter() - start:6.1f} s  {mutant.name}", flush=True)  # noqa: T201
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants caught.")  # noqa: T201
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
