"""A bench on Ray: python ray_driver.py DIR SHARDS, where DIR is a run directory of `gistify bench plan`.

Each shard is a Ray task around `gistify bench work`. A worker that is killed, for memory or otherwise, is started again and
skips the units that have a result.
"""

import subprocess
import sys

import ray


@ray.remote(max_retries=3, retry_exceptions=True)
def work(directory: str, own: int, of: int) -> int:
    done = subprocess.run(["gistify", "--quiet", "bench", "work", directory, "--shard", f"{own}/{of}"], check=False)
    if done.returncode != 0:
        raise RuntimeError(f"shard {own}/{of} ended with {done.returncode}")
    return own


def main() -> int:
    directory, of = sys.argv[1], int(sys.argv[2])
    ray.init(ignore_reinit_error=True)
    ray.get([work.remote(directory, own, of) for own in range(1, of + 1)])
    return subprocess.run(["gistify", "bench", "finish", directory], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
