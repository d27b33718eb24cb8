"""Serves runs by fork: a process that has loaded what all of them need waits here, and becomes each of them.

It owns the channel to the program that asks, and the streams, bounds and end of each run. It loads nothing for
a run, and judges none. Both ends of the channel are pipes with names; a request and a reply is one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any, Optional

_before = set(sys.modules)
import resource  # noqa: E402
import select  # noqa: E402

# A run finds no module loaded that it did not load.
for _name in ("resource", "select"):
    if _name not in _before:
        del sys.modules[_name]

# Descriptors of ours lie above those that a program gets, which are then numbered as without us.
_HIGH = 200
_KILL = 9
_READ = 65536
# Seconds that a killed process may take to end.
_GRACE = 5.0


class Server:
    """The waiting process: one request at a time."""

    def __init__(self, directory: str, isolated: bool, keeps_random: bool) -> None:
        """`directory` holds the pipes; `isolated` says that all processes in sight are the run's or ours;
        `keeps_random` that a run goes on with the state of generators that this process has."""
        self._directory = directory
        self._isolated = isolated
        self._keeps_random = keeps_random
        self._requests = _raised(os.open(os.path.join(directory, "asked"), os.O_RDONLY))
        self._replies = _raised(os.open(os.path.join(directory, "replies"), os.O_WRONLY))
        self._pending = b""
        self._streams = [self._stream("stdout", 1), self._stream("stderr", 2)]
        self._ours: set[int] = set()
        self._counted = False

    def _stream(self, name: str, descriptor: int) -> tuple[int, int]:
        """Puts a file in the place of a stream, so that it can be told from all that a run opens."""
        path = os.path.join(self._directory, name)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
        known = os.fstat(descriptor)
        return known.st_dev, known.st_ino

    def next_run(self) -> Optional[dict[str, Any]]:
        """Waits for a run. Returns one in the process that has to do it, None in this one at the end."""
        unsafe = self._unsafe()
        # Processes that serve all runs were started while this one got ready.
        self._ours = _processes()
        has_resource = "resource" in sys.modules
        self._tell({"ready": True, "unsafe": unsafe})
        while True:
            request = self._asked()
            if request is None:
                return None
            unsafe = self._unsafe()
            if unsafe is not None:
                self._tell({"unsafe": unsafe})
                continue
            _flush()
            if not has_resource:
                # `os.wait4` loads it for what the run before used.
                sys.modules.pop("resource", None)
            pipes = [os.pipe(), os.pipe()]
            state = _random_state() if self._keeps_random else None
            began = time.monotonic()
            child = os.fork()
            if child == 0:
                self._become(request, pipes, state)
                return request
            for _, write in pipes:
                os.close(write)
            self._tell(self._watch(child, [read for read, _ in pipes], request, began))

    def _become(self, request: dict[str, Any], pipes: list[tuple[int, int]], state: Any) -> None:
        os.setsid()
        for stream, (_, write) in zip(self._streams, pipes):
            for descriptor in _descriptors():
                known = os.fstat(descriptor)
                if (known.st_dev, known.st_ino) == stream:
                    os.dup2(write, descriptor, os.get_inheritable(descriptor))
        for descriptor in [self._requests, self._replies] + [end for pipe in pipes for end in pipe]:
            os.close(descriptor)
        cpu = int(request["cpu"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
        if state is not None:
            sys.modules["random"].setstate(state)  # type: ignore[attr-defined]
        elif not self._keeps_random:
            _reseed()

    def _watch(self, child: int, reads: list[int], request: dict[str, Any], began: float) -> dict[str, Any]:
        """Sees a run to its end, and ends whatever it left running."""
        deadline = began + request["wall"]
        captures = {read: _Capture(request["output"]) for read in reads}
        for read, name in zip(reads, ("stdout", "stderr")):
            os.set_blocking(read, False)
            captures[read].push(self._printed(name))
        end = _End(child)
        timed_out = False
        wait = 0.0005
        while not end.has_come():
            # One thread uses at most one second of the processor each second: it has this time at least.
            left = min(deadline - time.monotonic(), request["cpu"] - _processor_time(child))
            if left <= 0:
                timed_out = True
                _kill_session(child)
                end.wait(_GRACE)
                break
            ready = end.descriptors() + [read for read in reads if captures[read].open]
            # Without a descriptor for the end of a process it has to be looked for.
            wait = min(wait * 1.5, 0.02)
            found, _, _ = select.select(ready, [], [], left if end.descriptors() else min(left, wait))
            for read in found:
                if read in captures:
                    captures[read].read(read)
        wall = time.monotonic() - began
        self._kill_rest(child)
        sizes = []
        for read, name in zip(reads, ("stdout", "stderr")):
            captures[read].drain(read)
            os.close(read)
            sizes.append(self._keep(name, captures[read]))
        status, used = end.collect()
        return {
            "status": status,
            "timed_out": timed_out,
            "wall": wall,
            "cpu": used,
            "dropped": sum(sizes),
        }

    def _printed(self, name: str) -> bytes:
        """The output of this process before it waited: each run printed it."""
        with open(os.path.join(self._directory, name), "rb") as file:
            return file.read(_READ * 16)

    def _keep(self, name: str, capture: _Capture) -> int:
        path = os.path.join(self._directory, "run-" + name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            data = capture.data()
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)
        return capture.dropped

    def _kill_rest(self, child: int) -> None:
        _kill_session(child)
        until = time.monotonic() + _GRACE
        while self._isolated and time.monotonic() < until:
            left = _processes() - self._ours - {child}
            if not left:
                return
            for process in left:
                _kill(process)
            time.sleep(0.001)

    def _unsafe(self) -> Optional[str]:
        """The reason why a fork of this process would not be what it is; None where there is none."""
        threading = sys.modules.get("threading")
        if threading is not None and threading.active_count() > 1:  # type: ignore[attr-defined]
            names = sorted(thread.name for thread in threading.enumerate())  # type: ignore[attr-defined]
            return "threads run: " + ", ".join(names)[:200]
        if _threads() > 1 and not self._counted:
            # Libraries that survive forks end their threads before one.
            self._counted = True
            _fork_quietly()
        if _threads() > 1:
            return "threads of a library run"
        return None

    def _asked(self) -> Optional[dict[str, Any]]:
        while b"\n" not in self._pending:
            data = os.read(self._requests, _READ)
            if not data:
                return None
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        request: dict[str, Any] = json.loads(line)
        return request

    def _tell(self, reply: dict[str, Any]) -> None:
        data = json.dumps(reply).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._replies, data) :]


def _processor_time(process: int) -> float:
    """Returns the processor's seconds that a process took so far; 0.0 where it cannot be told, as for one that ended.

    The clock is that of `clock_getcpuclockid`, which Python does not have."""
    try:
        return time.clock_gettime((~process << 3) | 2)
    except (OSError, OverflowError):
        return 0.0


class _Capture:
    """The first and the last bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self.open = True
        self.dropped = 0
        self._half = max(limit // 2, 1)
        self._head = b""
        self._tail = bytearray()

    def push(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        over = len(self._tail) - self._half
        if over > 0:
            del self._tail[:over]
            self.dropped += over

    def read(self, descriptor: int) -> bool:
        try:
            data = os.read(descriptor, _READ)
        except BlockingIOError:
            return False
        self.open = bool(data)
        self.push(data)
        return bool(data)

    def drain(self, descriptor: int) -> None:
        while self.open and self.read(descriptor):
            pass

    def data(self) -> bytes:
        return self._head + bytes(self._tail)


class _End:
    """The end of a process."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._found: Optional[tuple[int, float]] = None
        self._descriptor: Optional[int] = None
        try:
            self._descriptor = os.pidfd_open(process)  # type: ignore[attr-defined]
        except (AttributeError, OSError):
            pass

    def descriptors(self) -> list[int]:
        return [] if self._descriptor is None else [self._descriptor]

    def has_come(self) -> bool:
        if self._found is None:
            process, status, used = os.wait4(self._process, os.WNOHANG)
            if process:
                self._found = status, used.ru_utime + used.ru_stime
        return self._found is not None

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not self.has_come() and time.monotonic() < until:
            time.sleep(0.001)

    def collect(self) -> tuple[int, float]:
        self.wait(_GRACE)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        return self._found or (_KILL, 0.0)


def _raised(descriptor: int) -> int:
    """The same file behind a high descriptor."""
    high = _HIGH
    while True:
        try:
            os.fstat(high)
        except OSError:
            break
        high += 1
    os.dup2(descriptor, high, False)
    os.close(descriptor)
    return high


def _descriptors() -> list[int]:
    open_ones = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:
            continue
        open_ones.append(int(name))
    return open_ones


def _processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _kill(process: int) -> None:
    try:
        os.kill(process, _KILL)
    except OSError:
        pass


def _kill_session(leader: int) -> None:
    """Ends a session that still has its leader, or had it until now."""
    try:
        os.killpg(leader, _KILL)
    except OSError:
        pass
    for process in _processes():
        try:
            with open("/proc/%d/stat" % process, "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            _kill(process)


def _fork_quietly() -> None:
    warnings = sys.modules.get("warnings")
    filters = list(warnings.filters) if warnings is not None else []  # type: ignore[attr-defined]
    if warnings is not None:
        warnings.simplefilter("ignore")  # type: ignore[attr-defined]
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    if warnings is not None:
        warnings.filters[:] = filters  # type: ignore[attr-defined]
        getattr(warnings, "_filters_mutated", lambda: None)()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except Exception:
            pass


def _random_state() -> Any:
    """The state that `random` would lose by a fork."""
    random = sys.modules.get("random")
    return None if random is None else random.getstate()  # type: ignore[attr-defined]


def _reseed() -> None:
    """Gives generators that libraries made while they were loaded a seed of this run."""
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        numpy.seed()  # type: ignore[attr-defined]
