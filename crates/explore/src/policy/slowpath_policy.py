"""The base class of policies for `slowpath explore`, and the loop that asks them.

A policy is one class that extends Policy and has `next`; it may have `begin`, `result`, `stop_run`, `max_duration` and
`conclusions` as well. Not a library: slowpath runs it by `python3 -c`, and the policy finds it as slowpath_policy.
"""

import sys

if sys.path[:1] == [""]:
    del sys.path[0]  # Modules of Python are meant, not files that happen to lie in the current folder.

import importlib.util
import json
import math
import os
import random
import traceback
import types


class Policy:
    """What a policy may look at: set before its first method is called.

    parameters  a list of dictionaries: name, domain, default, when, values (of a grid; None where it has none)
    objectives  a list of dictionaries: metric, maximise; the most important first
    trials      how often a configuration is run where `next` does not say
    seed        of everything random
    random      a random.Random with that seed; after --resume it goes on differently
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
        """The values of a parameter that make its part of a grid; None where it has no end of them, or too many."""
        return parameter["values"]

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


class Mistake(Exception):
    """What whoever wrote the policy or the specification can mend; told in its own words alone."""


def load(path, text=None):
    """The policy in a file, or in the text of one: the last class there that extends Policy."""
    if text is None:
        specification = importlib.util.spec_from_file_location("policy", path)
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    else:
        module = types.ModuleType("policy")
        exec(compile(text, path, "exec"), vars(module))
    base = sys.modules["slowpath_policy"].Policy
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    ]
    if not found:
        raise Mistake(f"{path} has no class that extends slowpath_policy.Policy")
    return found[-1]()


def proposed(answer):
    """What `next` gave, as a list of configurations with their numbers of trials."""
    if answer is None:
        return []
    if isinstance(answer, (dict, tuple)):
        answer = [answer]
    if isinstance(answer, (str, bytes)) or not hasattr(answer, "__iter__"):
        raise wrong(answer, "`next` gives")
    return [one_proposed(one) for one in answer]


def one_proposed(one):
    configuration, trials = one if isinstance(one, tuple) and len(one) == 2 else (one, None)
    if not isinstance(configuration, dict):
        raise wrong(one, "`next` gives" if one is configuration else "a pair of `next` has")
    for name, value in configuration.items():
        if not isinstance(name, str):
            raise Mistake(f"`next` gives {name!r} as the name of a parameter\n  hint: names are words")
        if isinstance(value, float) and not math.isfinite(value):
            raise Mistake(f"`next` gives {value} as `{name}`, which is no value of a parameter")
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise Mistake(f"`next` gives {value} as `{name}`, which has more than 64 bits")
    if isinstance(trials, bool) or not (trials is None or isinstance(trials, int) and 1 <= trials < 2**32):
        raise Mistake(f"`next` wants {trials!r} trials of a configuration\n  hint: (configuration, n), where n is 1 or more")
    return {"configuration": configuration, "trials": trials}


def wrong(given, who):
    """That something is no configuration."""
    shown = repr(given)
    shown = shown if len(shown) <= 200 else shown[:200] + "…"
    return Mistake(
        f"{who} {shown}, which is no configuration\n  hint: `next` gives a configuration, a list of them, or None; "
        "a configuration is a dictionary of values by parameter, or a pair (configuration, n)"
    )


def answer(policy, question):
    """The answer to one line."""
    (kind, value), = question.items()
    if kind == "begin":
        vars(policy).update(value, results=[], random=random.Random(value["seed"]), _was_asked=False)
        policy.begin()
        return {name: hasattr(policy, name) for name in ("max_duration", "stop_run")}
    if kind == "result":
        if value["trial"] is not None:
            policy.results.append(value)
        policy.result(value)
        return {}
    if kind == "next":
        if not policy._was_asked and policy.results:
            # Gone on with: what was drawn before is not drawn again.
            policy.random.seed(f"{policy.seed} {len(policy.results)}")
        policy._was_asked = True
        return {"next": proposed(policy.next())}
    if kind == "stop_run":
        return {"stop_run": bool(policy.stop_run(value["configuration"], value["metric"], value["value"]))}
    if kind == "max_duration":
        return {"max_duration": policy.max_duration(value)}
    sentences = policy.conclusions() or []
    sentences = [sentences] if isinstance(sentences, str) else sentences
    return {"conclusions": [str(sentence) for sentence in sentences]}


def main():
    """Asks the policy what standard input asks, a line each."""
    questions, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a policy prints is talk, and that of programs it runs, too; there is nothing for them to read.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    policy = None
    for line in questions:
        try:
            if policy is None:
                policy = load(*sys.argv[1:])
            said = json.dumps(answer(policy, json.loads(line)), allow_nan=False)
        except Mistake as mistake:
            said = json.dumps({"mistake": str(mistake)})
        except Exception as error:  # Whatever it is, the explorer says it.
            traceback.print_exc()
            said = json.dumps({"error": f"{type(error).__name__}: {error}"})
        answers.write(said + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.modules["slowpath_policy"] = sys.modules["__main__"]
    main()
