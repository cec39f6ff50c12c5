"""One party as a process: takes a job from a JSON file, prints the result as JSON, and says where it listens."""

from __future__ import annotations

import json
import sys
from typing import Any

from scene import columns_of, table

import vesica


def heard(event: vesica.Event) -> None:
    if event["event"] == "listening":
        print(f"listening on {event['address']}", file=sys.stderr, flush=True)


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    if job["role"] == "helper":
        helped = vesica.assist(timeout="60s", events=heard, **job["arguments"])
        print(json.dumps(helped.to_dict()))
        return
    given = table(job["kind"], job["columns"])
    arguments: dict[str, Any] = {"key": "email:email", "timeout": "60s", "events": heard, **job["arguments"]}
    if job["role"] == "receiver":
        found = vesica.receive(given, **arguments)
        assert type(found) is type(given), type(found)
        result = columns_of(found)
    else:
        result = vesica.send(given, **arguments).to_dict()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
