# SPDX-License-Identifier: Apache-2.0
"""Real processes for end-to-end tests: a mock upstream, workers, commands, one SQLite store and one sink directory.

Each test has a folder of its own and loopback ports that the system chose. What it started is ended with it; its folder
is kept, and named, when it failed. Waiting is for conditions, with deadlines.
"""
import atexit
import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.environ.get("LONGHOLD_BIN", str(pathlib.Path(__file__).parents[2] / "build/dev/bin/longhold"))
# Against slow builds: fewer connections, one round each, and time bounds of the product are not judged.
SHORT = bool(os.environ.get("LONGHOLD_E2E_SHORT"))
LEASE = 3.0 if SHORT else 2.0
# How long a test waits for what has no bound of its own: far beyond what it takes, for loaded machines.
PATIENCE = 60 if SHORT else 20
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG

_libc = ctypes.CDLL(None)
_running = set()


@atexit.register
def _end_all():
    for process in list(_running):
        process.kill()


def wait_for(what, within, condition, every=0.02):
    """The first true value of `condition()`. `what` is told when there is none in time; it may be a function."""
    end = time.monotonic() + within
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {within} s: {what() if callable(what) else what}")
        time.sleep(every)


def holds_for(what, seconds, condition, every=0.05):
    """Fails when `condition()` is false at any look during so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            raise AssertionError(f"did not hold for {seconds} s: {what}")
        time.sleep(every)


def now_us():
    return time.time_ns() // 1000


def request(port, method, target, timeout=10):
    """(status, body as text) of one HTTP request."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)) as connection:
        connection.request(method, target)
        response = connection.getresponse()
        return response.status, response.read().decode()


class Process:
    """A program with its output in files; it dies with this one."""

    def __init__(self, name, command, folder, stdin=subprocess.DEVNULL, env=None):
        self.name = name
        self.out = folder / f"{name}.out"
        self.err = folder / f"{name}.err"
        parent = os.getpid()

        def die_with_parent():
            _libc.prctl(DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.popen = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=err, cwd=folder, env=env,
                                          start_new_session=True, preexec_fn=die_with_parent)
        _running.add(self)

    def output(self):
        return self.out.read_text(errors="replace")

    def log(self):
        return self.err.read_text(errors="replace")

    def log_end(self):
        return f"its log ends:\n{self.log()[-2000:]}"

    def running(self):
        return self.popen.poll() is None

    def signal(self, number):
        self.popen.send_signal(number)

    def wait_exit(self, within):
        """Its exit code; negative for a signal."""
        try:
            return self.popen.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} had not ended within {within} s; {self.log_end()}") from None

    def kill(self):
        _running.discard(self)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        if self.popen.stdin:
            self.popen.stdin.close()

    def wait_match(self, pattern, where, within=PATIENCE):
        """The match of `pattern` in what `where` (log or output) has; fails when the process ends without it."""

        def look():
            ended = not self.running()
            match = re.search(pattern, where())
            if not match and ended:
                raise AssertionError(f"{self.name} ended without {pattern!r}; {self.log_end()}")
            return match

        return wait_for(lambda: f"{pattern!r} of {self.name}, which says:\n{where()[-2000:]}", within, look)

    def wait_log(self, pattern, within=PATIENCE):
        return self.wait_match(pattern, self.log, within)


class Mock(Process):
    """`longhold mock-upstream`."""

    def __init__(self, fleet, rate=20, *options):
        super().__init__("mock", [BINARY, "mock-upstream", "--rate", str(rate), *options], fleet.folder)
        self.port = int(self.wait_match(r"listening on [\d.]+:(\d+)\n", self.output)[1])

    def url(self, name, query=""):
        return f"ws://127.0.0.1:{self.port}/feed/{name}{query}"

    def oracle(self):
        return json.loads(request(self.port, "GET", "/oracle")[1])

    def feed(self, name):
        status, body = request(self.port, "GET", f"/oracle/{name}")
        return json.loads(body) if status == 200 else {"live": 0, "live_max": 0, "streams": [], "sockets": []}

    def fault(self, name, query):
        status, body = request(self.port, "POST", f"/faults/{name}?{query}")
        assert status < 300, f"the mock upstream refused the fault {query}: {status} {body}"

    def live(self, names):
        """How many of the names have exactly one live socket."""
        ids = self.oracle()["ids"]
        return sum(1 for name in names if ids.get(name, {}).get("live") == 1)

    def wait_live(self, names, within=PATIENCE):
        wait_for(lambda: f"{len(names)} live connections: {self.live(names)} are", within,
                 lambda: self.live(names) == len(names))


class Worker(Process):
    """`longhold serve`."""

    def __init__(self, fleet, name, settings):
        command = [BINARY, "serve"]
        for key, value in (fleet.settings | {"worker.id": name} | settings).items():
            command += ["--set", f"{key}={value}"]
        super().__init__(name, command, fleet.folder, env=fleet.environment)
        self._port = None

    @property
    def port(self):
        if self._port is None:
            self._port = int(self.wait_log(r"admin listener open\"? address=\S*:(\d+)")[1])
        return self._port

    def ask(self, path):
        return request(self.port, "GET", path)

    def health(self):
        return json.loads(self.ask("/health")[1])

    def session(self):
        return self.health().get("session", "")

    def metric(self, name, labels=""):
        """A sample's value; 0 when there is none."""
        found = re.search(rf"^{re.escape(name + labels)} (\S+)$", self.ask("/metrics")[1], re.MULTILINE)
        return float(found[1]) if found else 0.0

    def ready(self):
        try:
            return self.ask("/readyz")[0] == 200
        except OSError:
            return False

    def wait_ready(self, within=PATIENCE):
        wait_for(lambda: f"{self.name} is ready; {self.log_end()}", within, self.ready)
        return self


class Fleet:
    """One store, one sink directory, and the processes that use them."""

    def __init__(self, folder):
        self.folder = folder
        self.store = folder / "fleet.db"
        self.messages = folder / "messages"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("LONGHOLD_")}
        self.settings = {"store.url": f"sqlite:{self.store}", "sinks.main.url": f"ndjson:{self.messages}/",
                         "admin.listen": "127.0.0.1:0", "worker.threads": "2", "lease.duration": f"{LEASE:g}s",
                         "lease.heartbeat_every": "500ms", "sinks.main.checkpoint_every": "1s"}
        self.workers = []

    def worker(self, name, ready=True, **settings):
        """Starts a worker; `settings` have `__` for the dots of their keys."""
        started = Worker(self, name, {key.replace("__", "."): value for key, value in settings.items()})
        self.workers.append(started)
        return started.wait_ready() if ready else started

    def run(self, *command, stdin=None, env=None):
        """A finished `longhold COMMAND`."""
        return subprocess.run([BINARY, *command], input=stdin, capture_output=True, text=True, cwd=self.folder,
                              env=self.environment | (env or {}), timeout=PATIENCE + 40, check=False)

    def do(self, *command, stdin=None):
        """What a command that has to succeed printed."""
        done = self.run(*command, "--store", self.settings["store.url"], stdin=stdin)
        assert done.returncode == 0, f"longhold {' '.join(command)}: exit {done.returncode}\n{done.stderr}"
        return done.stdout

    def put_feeds(self, mock, names, **spec):
        """Wants one connection to the mock upstream for each name."""
        spec = {"sequence": {"field": "/seq", "first": 1}, "resume": {"query": "cursor"}} | spec
        lines = (json.dumps({"id": name, "spec": {"url": mock.url(name)} | spec}) for name in names)
        self.do("connection", "import", "-", stdin="\n".join(lines))

    def connections(self):
        """id → what `connection list` says of it."""
        return {row["id"]: row for row in json.loads(self.do("connection", "list", "-o", "json"))["connections"]}

    def owned_by(self, worker):
        session = worker.session()
        return sorted(name for name, row in self.connections().items() if row["owner"] == session)

    def dump(self):
        return json.loads(self.do("store", "dump"))

    def stop_all(self, names):
        for name in names:
            self.do("connection", "stop", name)

    @contextlib.contextmanager
    def locked_store(self):
        """Holds the store file's write lock, as another process that works on it would."""
        with contextlib.closing(sqlite3.connect(self.store, isolation_level=None, timeout=PATIENCE)) as holder:
            holder.execute("BEGIN EXCLUSIVE")
            yield
            holder.execute("ROLLBACK")

    def sizes(self, session):
        """Bytes of each file that a session wrote."""
        return {path.name: path.stat().st_size for path in self.messages.glob(f"{session}.*.ndjson")}


def names(count, short=None):
    """`count` connection ids; `short` of them in a short run."""
    return [f"c-{number:02}" for number in range((short or max(2, count // 3)) if SHORT else count)]


class FleetTest(unittest.TestCase):
    """A test with a fleet. Its folder and logs stay when it fails."""

    longMessage = True

    def run(self, result=None):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="longhold-e2e-"))
        self.fleet = Fleet(folder)
        before = len(result.failures) + len(result.errors)
        try:
            super().run(result)
        finally:
            _end_all()
            if len(result.failures) + len(result.errors) > before:
                print(f"{self.id()} failed; kept: {folder}", file=sys.stderr)
                for worker in self.fleet.workers:
                    print(f"--- the end of {worker.err}\n{worker.log()[-3000:]}", file=sys.stderr)
            else:
                shutil.rmtree(folder)

    def mock(self, rate=20, *options):
        return Mock(self.fleet, rate, *options)

    def assert_bound(self, seconds, bound, what):
        """A time bound that the product promises; short runs only report it."""
        print(f"    {what}: {seconds * 1000:.0f} ms (bound {bound * 1000:.0f} ms)")
        if not SHORT:
            self.assertLessEqual(seconds, bound, what)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    unittest.main(verbosity=2)
