"""The base class of policies for `slowpath explore`, and the loop that asks them.

A policy is one class that extends Policy and has `next`; it may have `result`, `stop_run`, `max_duration` and
`conclusions` as well. Not a library: slowpath puts it beside the policy and runs it.
"""

import importlib.util
import json
import random
import sys
import traceback


class Policy:
    """What a policy may look at: set before its first method is called.

    parameters  a list of dictionaries: name, domain, default, when
    objectives  a list of dictionaries: metric, maximise; the most important first
    trials      how often a configuration is run where `next` does not say
    seed        of everything random; `self.random` is seeded with it
    options     from [policy.options] of the specification
    results     every trial so far: dictionaries with trial, configuration, outcome, metrics
    """

    def begin(self):
        """Called once, before everything else."""

    def next(self):
        """A configuration (a dictionary of values by parameter), a list of them, or None to end.

        A pair (configuration, n) runs it n times.
        """
        raise NotImplementedError

    def result(self, trial):
        """A trial has ended, in this run or an earlier one."""

    def conclusions(self):
        """Sentences for the end."""
        return []

    def values(self, parameter):
        """The values of a parameter that make its part of a grid; None where there are too many."""
        domain = parameter["domain"]
        if domain["kind"] == "values":
            return domain["values"]
        if domain["kind"] == "integer":
            return list(range(domain["min"], domain["max"] + 1, domain["step"]))
        if domain.get("steps"):
            step = (domain["max"] - domain["min"]) / (domain["steps"] - 1)
            return [domain["min"] + step * number for number in range(domain["steps"])]
        return None

    def configuration(self, choose):
        """The configuration in which choose(parameter) gives every parameter that has a value one."""
        chosen = {}
        for parameter in self.parameters:
            if all(chosen.get(name) in values for name, values in parameter["when"].items()):
                chosen[parameter["name"]] = choose(parameter)
        return chosen

    def cost(self, trial):
        """The first objective of a trial, smaller being better; None where it failed."""
        objective = self.objectives[0]
        value = trial["metrics"].get(objective["metric"])
        return value if value is None or not objective["maximise"] else -value


def load(path):
    """The policy in a file: the last class there that extends Policy."""
    specification = importlib.util.spec_from_file_location("policy", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    base = sys.modules["slowpath_policy"].Policy
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
    if not found:
        raise TypeError(f"{path} has no class that extends slowpath_policy.Policy")
    return found[-1]()


def proposed(answer):
    """What `next` gave, as a list of configurations with their numbers of trials."""
    if answer is None:
        return []
    if isinstance(answer, dict) or isinstance(answer, tuple):
        answer = [answer]
    pairs = (one if isinstance(one, tuple) else (one, None) for one in answer)
    return [{"configuration": configuration, "trials": trials} for configuration, trials in pairs]


def answer(policy, question):
    """The answer to one line."""
    (kind, value), = question.items()
    if kind == "begin":
        vars(policy).update(value, results=[], random=random.Random(value["seed"]))
        policy.begin()
        return {name: hasattr(policy, name) for name in ("max_duration", "stop_run")}
    if kind == "result":
        if value["trial"] is not None:
            policy.results.append(value)
        policy.result(value)
        return {}
    if kind == "next":
        return {"next": proposed(policy.next())}
    if kind == "stop_run":
        return {"stop_run": bool(policy.stop_run(value["configuration"], value["metric"], value["value"]))}
    if kind == "max_duration":
        return {"max_duration": policy.max_duration(value)}
    return {"conclusions": [str(sentence) for sentence in policy.conclusions() or []]}


def main():
    """Asks the policy what standard input asks, a line each."""
    output = sys.stdout
    # What a policy prints is talk.
    sys.stdout = sys.stderr
    policy = None
    for line in sys.stdin:
        try:
            if policy is None:
                policy = load(sys.argv[1])
            said = answer(policy, json.loads(line))
        except Exception as error:  # Whatever it is, the explorer says it.
            traceback.print_exc()
            said = {"error": f"{type(error).__name__}: {error}"}
        output.write(json.dumps(said) + "\n")
        output.flush()


if __name__ == "__main__":
    sys.modules["slowpath_policy"] = sys.modules["__main__"]
    main()
