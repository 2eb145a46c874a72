"""``gssl check``: whether a graph is in order, and whether it helps."""

from gssl.cli.console import Talk
from gssl.cli.inputs import Inputs, read_problem
from gssl.evaluation import graph_gain, graph_health
from gssl.report import health_table


def run_check(inputs: Inputs, talk: Talk) -> None:
    """Read, measure, show."""
    problem = read_problem(inputs, talk)
    X = problem.features
    health = graph_health(problem.adjacency, problem.y, None if X is None else X.shape[1])
    talk.out.print(health_table(health))
    if not health.n_labelled:
        talk.say("Without labels nothing can be said about whether the graph helps.")
        return
    try:
        with talk.step("comparing with no graph") as move:
            gain = graph_gain(X, problem.y, problem.adjacency, on_fold=move)
    except ValueError as error:
        talk.say(f"Whether the graph helps cannot be told: {error}")
        return
    talk.say(gain.verdict)
