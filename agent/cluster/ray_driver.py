"""A bench on Ray: python ray_driver.py DIR SHARDS, where DIR is a run directory of `gistify bench plan`.

Each shard is a Ray task around `gistify bench work`. A worker that is killed, for memory or otherwise, is started again and
skips the units that have a result. A shard that fails for good is reported, and the others go on.

Ray gives its workers, and what they start, a niceness of 15: beside other programs a shard would get a fiftieth of a core.
On a cluster that runs already, start its nodes with RAY_worker_niceness=0.
"""

import os
import subprocess
import sys

os.environ.setdefault("RAY_worker_niceness", "0")

import ray  # noqa: E402 (Ray reads the variable when it is imported)


@ray.remote(max_retries=3, retry_exceptions=True)
def work(directory: str, own: int, of: int) -> int:
    done = subprocess.run(["gistify", "--quiet", "bench", "work", directory, "--shard", f"{own}/{of}"], check=False)
    if done.returncode != 0:
        raise RuntimeError(f"shard {own}/{of} ended with {done.returncode}")
    return own


def main() -> int:
    directory, of = sys.argv[1], int(sys.argv[2])
    ray.init(ignore_reinit_error=True, include_dashboard=False)
    shards = {work.remote(directory, own, of): own for own in range(1, of + 1)}
    waiting = list(shards)
    while waiting:
        (done,), waiting = ray.wait(waiting)
        try:
            ray.get(done)
            print(f"shard {shards[done]}/{of} has all its results", flush=True)
        except ray.exceptions.RayError as error:
            print(f"shard {shards[done]}/{of}: {str(error).strip().splitlines()[-1]}", flush=True)
    return subprocess.run(["gistify", "bench", "finish", directory], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
