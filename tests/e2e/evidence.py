# SPDX-License-Identifier: Apache-2.0
"""What a run comes to: the sink's records against the oracle, as docs/proof-of-quickstart.md defines it."""
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import urllib.parse

import fleet as fleets

sys.dont_write_bytecode = True


def _load_check_proof():
    loader = importlib.machinery.SourceFileLoader("check_proof", str(pathlib.Path(__file__).with_name("check_proof")))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_proof", loader))
    sys.modules["check_proof"] = module
    loader.exec_module(module)
    return module


check_proof = _load_check_proof()


def heads_of(oracle, names):
    """The newest stream of each connection, and how far it got."""
    newest = {name: oracle["ids"][name]["streams"][-1] for name in names}
    return {name: {"stream": stream["stream"], "seq": stream["head"]} for name, stream in newest.items()}


def judge(fleet, oracle, heads, events=()):
    """(figures, sentences about what is wrong); times are in microseconds."""
    records = check_proof.read_messages(fleet.messages)
    return check_proof.judge(records, oracle, [*events, {"at_us": fleets.now_us(), "kind": "stop", "heads": heads}])


def wait_delivered(fleet, mock, names, events=()):
    """Waits until everything that the upstream has made by now, and something of each, is in the sink. Those heads."""
    fleets.wait_for("the upstream has sent something to each", fleets.PATIENCE, lambda: all(
        any(socket["sent"] for socket in mock.feed(name)["sockets"]) for name in names))
    heads = heads_of(mock.oracle(), names)
    figures = {}

    def nothing_lost():
        figures.update(judge(fleet, mock.oracle(), heads, events)[0])
        return figures["lost"] == 0 and figures["delivered"] > 0

    fleets.wait_for(lambda: f"everything up to now is delivered: {figures}", fleets.PATIENCE, nothing_lost, every=0.1)
    return heads


def settle(fleet, mock, names, events=()):
    """Ends a run: all is delivered, the connections are stopped, their sockets closed. (figures, wrong) of it."""
    heads = wait_delivered(fleet, mock, names, events)
    fleet.stop_all(names)
    fleets.wait_for("all sockets are closed", fleets.PATIENCE,
                    lambda: all(feed["live"] == 0 for feed in mock.oracle()["ids"].values()))
    fleets.wait_for("all connections are released", fleets.PATIENCE,
                    lambda: all(row["owner"] is None for row in fleet.connections().values()))
    return judge(fleet, mock.oracle(), heads, events)


def milliseconds(spread):
    """Of a recovery time or gap, for people."""
    return ", ".join(f"{name} {value / 1000:.0f} ms" for name, value in spread.items() if name != "count")


def records(fleet, connection=None):
    """Every whole line of the sink's files as written, with `session` and `file` beside it, by connection and place."""
    found = []
    for path in sorted(fleet.messages.glob("*.ndjson")):
        session = urllib.parse.unquote(path.name.rsplit(".", 2)[0])
        for line in path.read_bytes().split(b"\n")[:-1]:
            record = json.loads(line)
            if connection in (None, record["connection"]):
                found.append(record | {"session": session, "file": path.name})
    return sorted(found, key=lambda record: (record["connection"], record["epoch"], record["ordinal"]))


def resume_points(found):
    """connection → {epoch: (epoch, ordinal) that it resumes from}, of the records that open epochs."""
    points = {}
    for record in found:
        if record["kind"] == "state" and record["reason"] == "claimed":
            resume = record["resume"] or {"epoch": 0, "ordinal": 0}
            points.setdefault(record["connection"], {})[record["epoch"]] = (resume["epoch"], resume["ordinal"])
    return points
