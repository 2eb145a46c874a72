"""``gssl plan``: the size of a problem in, what a run would take out."""

from typing import Any

from gssl.cli.console import Talk
from gssl.scale.estimate import Estimate, Job, estimate, measure_bandwidth
from gssl.scale.plan import read_size, write_size


def run_plan(options: dict[str, Any], workers: int, memory: str, bandwidth: str | None) -> None:
    """Estimate and say."""
    talk, job = Talk(), Job(**options)
    told = "given"
    if bandwidth is None:
        with talk.step("measuring this machine"):
            speed = measure_bandwidth()
        told = "measured here just now"
    else:
        speed = float(read_size(bandwidth))
    found = estimate(job, workers, read_size(memory), speed)
    for line in plan_lines(job, found, workers):
        talk.say(line)
    talk.say(
        f"time                {write_time(found.seconds)} for the passes, at {write_size(int(speed))}/s per "
        f"worker ({told})"
    )


def plan_lines(job: Job, found: Estimate, workers: int) -> list[str]:
    """Write a plan, a fact per line.

    Examples
    --------
    >>> job = Job(nodes=10**6, edges=10**7, features=128, depth=16, method="sgc")
    >>> print(plan_lines(job, estimate(job, 2, 2 * 10**9, 1e10), 2)[1])
    memory per worker   1.2 GB
    """
    one = "1 worker" if workers == 1 else f"{workers} workers"
    slabs = "1 slab" if found.n_slabs == 1 else f"{found.n_slabs} slabs, one after the other,"
    where = "in files, read anew in every pass" if found.in_files else "in the memory of every worker"
    lines = [
        f"{job.method:<19} {job.nodes:,} nodes, {job.edges:,} edges, {job.features:,} features, "
        f"{job.depth} iterations, {one}",
        f"memory per worker   {write_size(found.memory)}",
        f"columns             {slabs} of {found.width} per worker",
        f"graph               {write_size(job.link_bytes + job.node_bytes)}, its links {where}",
        f"passes              {found.passes} over the graph by each worker",
        f"bytes moved         {write_size(found.gathered)} in the memory of each worker",
    ]
    if found.from_disk:
        lines.append(f"read from disk      {write_size(found.from_disk)} by each worker")
    if found.network:
        lines.append(f"over the network    {write_size(found.network)}")
    return [*lines, f"disk                {write_size(found.disk)}"]


def write_time(seconds: float) -> str:
    """Write a time in the unit that fits.

    Examples
    --------
    >>> write_time(3.21), write_time(600), write_time(1e5)
    ('3.2 s', '10.0 min', '27.8 h')
    """
    unit, name = next(((u, s) for u, s in ((3600, "h"), (60, "min")) if seconds >= u), (1, "s"))
    return f"{seconds / unit:.1f} {name}"
