"""Holds what slowpath says about the streams of run.sh against what the nodes counted (INFO commandstats) and what the
client of the services got. Not about how fast anything is.
"""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import check

HOSTS = ("store-1", "store-2", "store-3")
ASKED = ("set", "get", "publish")


def counted(folder, host):
    """How often each command was called at a node, by the node."""
    lines = (folder / host / "commandstats").read_text().splitlines()
    found = {}
    for line in lines:
        if row := re.match(r"cmdstat_([^:]+):calls=(\d+)", line):
            found[row[1]] = int(row[2])
    return found


def claims(folder, count):
    """Pairs of a claim and whether it holds."""
    told = json.loads((folder / "redis.json").read_text())
    yield f"no events were lost: {told['lost']}", told["lost"] == 0
    hosts = sorted(server["host"] for server in told["servers"])
    yield f"each host has a server: {', '.join(hosts)}", hosts == list(HOSTS)
    for host in HOSTS:
        found = {row["command"]: row["count"] for row in told["commands"] if row["host"] == host}
        node = counted(folder, host)
        rows = [(command, found.get(command, 0), node.get(command, 0)) for command in ASKED]
        words = ", ".join(f"{command} {here} of {there}" for command, here, there in rows)
        yield f"{host}: {words}", all(here == there for _, here, there in rows)
    for command, expected in (("set", count), ("get", count), ("publish", count // 10)):
        whole = sum(row["count"] - row["unanswered"] for row in told["commands"] if row["command"] == command)
        yield f"every {command} has its whole life: {whole} of {expected}", whole == expected
    publisher = [one for one in told["findings"] if one["kind"] == "publish-amplification"]
    where = {one["host"] for one in publisher}
    yield f"publish amplification is found where it was published: {', '.join(where)}", where == {"store-2"}

    calls = json.loads((folder / "calls.json").read_text())
    right = int((folder / "answers").read_text())
    across = [
        (one["host"], below["request"]["host"])
        for one in calls["requests"]
        for below in one["called"]
        if below["kind"] == "request" and below["request"]
    ]
    through = across.count(("store-1", "store-2"))
    yield f"requests are followed from host to host: {through} of {right}", through == right == len(calls["requests"]) > 0

    meanwhile = (folder / "meanwhile.json").read_text()
    read = sum(row["count"] for row in json.loads(meanwhile)["commands"]) if meanwhile else 0
    yield f"what had arrived could be read meanwhile: {read} commands", read > 0


if __name__ == "__main__":
    check.told(claims(pathlib.Path(sys.argv[1]), int(sys.argv[2])))
