"""A bench by submitit: python submitit_driver.py DIR SHARDS, where DIR is a run directory of `gistify bench plan`."""

import subprocess
import sys

import submitit


def work(directory: str, own: int, of: int) -> int:
    command = ["gistify", "--quiet", "bench", "work", directory, "--shard", f"{own}/{of}"]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    directory, of = sys.argv[1], int(sys.argv[2])
    executor = submitit.AutoExecutor(folder=f"{directory}/submitit")
    executor.update_parameters(timeout_min=60, slurm_array_parallelism=50)
    shares = range(1, of + 1)
    jobs = executor.map_array(work, [directory] * of, shares, [of] * of)
    # One job that fails is no reason to lose the others: what is missing is named by `finish`.
    for job in jobs:
        job.exception()
    return subprocess.run(["gistify", "bench", "finish", directory], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
