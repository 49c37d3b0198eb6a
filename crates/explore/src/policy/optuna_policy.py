"""The policy `optuna` of `slowpath explore`: a sampler of Optuna chooses from what was measured.

Needs the package optuna. Options: configurations (how many are tried); sampler (tpe, gp, cma-es, nsga2); startup (how many
at random first); prune (whether runs that are worse than the median of earlier ones at the same point are stopped); any
other is an argument of the sampler.
"""

from slowpath_policy import Mistake, Policy

try:
    import optuna
except ImportError:
    raise Mistake(
        "this Python has no optuna\n  hint: `pip install optuna`, or name a Python that has it by `interpreter` in [policy]"
    ) from None

import importlib
import json
import math
import statistics
import warnings


SAMPLERS = {
    "tpe": optuna.samplers.TPESampler,
    "gp": getattr(optuna.samplers, "GPSampler", None),
    "cma-es": optuna.samplers.CmaEsSampler,
    "nsga2": optuna.samplers.NSGAIISampler,
}
# Imported by Optuna when they are first used, long after the exploration has begun.
NEEDS = {"gp": ["torch", "scipy"], "cma-es": ["cmaes"]}
# Where constraints forbid so many proposals one after the other, draws at random are faster, and tell the sampler where to go on.
PROPOSED_IN_VAIN = 20
# After so many, what constraints leave has been tried.
MOST_IN_VAIN = 900


class Optuna(Policy):
    def begin(self):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        options = dict(self.options)
        self.wanted = options.pop("configurations", 30)
        self.prunes = options.pop("prune", False)
        startup = options.pop("startup", 10)
        directions = ["maximize" if one["maximise"] else "minimize" for one in self.objectives]
        if self.prunes and len(directions) > 1:
            raise Mistake("`prune` needs a single objective\n  hint: leave it out, or leave out other objectives")
        self.distributions = {one["name"]: self.distribution(one) for one in self.parameters}
        pruner = optuna.pruners.MedianPruner(n_startup_trials=startup) if self.prunes else optuna.pruners.NopPruner()
        sampler = self.sampler(options.pop("sampler", "tpe"), startup, options)
        self.study = optuna.create_study(directions=directions, sampler=sampler, pruner=pruner)
        self.tried = {}
        # Those of them that constraints forbid, and how many of them came one after the other.
        self.forbidden = set()
        self.in_vain = 0
        # Optuna's trials of configurations whose results are waited for, by configuration.
        self.asked = {}
        # How many values of the first objective the run has told, and whether one of its configuration was stopped.
        self.step = 0
        self.is_hopeless = False

    def sampler(self, name, startup, options):
        made = SAMPLERS.get(name)
        if made is None:
            there = ", ".join(name for name, made in SAMPLERS.items() if made)
            raise Mistake(f"there is no sampler `{name}`\n  hint: {there}")
        if name == "tpe":
            # Without a tree of their own, parameters are modelled one by one, which loses what they do together.
            options.setdefault("multivariate", True)
            options.setdefault("group", True)
        if name != "nsga2":
            options.setdefault("n_startup_trials", startup)
        try:
            for module in NEEDS.get(name, []):
                importlib.import_module(module)
        except ImportError as missing:
            needs = " and ".join(NEEDS[name])
            raise Mistake(
                f"the sampler `{name}` needs {needs}: {missing}\n  hint: pip install {' '.join(NEEDS[name])}, or take the sampler `tpe`"
            ) from None
        if name == "cma-es":
            self.refuse_what_cma_es_cannot()
        # NumPy takes no more.
        return made(seed=self.seed % 2**32, **options)

    def refuse_what_cma_es_cannot(self):
        """Optuna would draw such parameters at random, each by itself, and say so where nobody reads it."""
        for one in self.parameters:
            name = one["name"]
            if isinstance(self.distributions[name], optuna.distributions.CategoricalDistribution):
                raise Mistake(f"the sampler `cma-es` takes numbers alone, and `{name}` has none\n  hint: take the sampler `tpe`")
            if one["when"]:
                raise Mistake(
                    f"the sampler `cma-es` takes parameters that always have a value, and `{name}` has a `when`\n"
                    "  hint: take the sampler `tpe`"
                )

    def distribution(self, parameter):
        domain = parameter["domain"]
        if domain["kind"] == "integer":
            last = domain["min"] + (domain["max"] - domain["min"]) // domain["step"] * domain["step"]
            return optuna.distributions.IntDistribution(domain["min"], last, step=domain["step"])
        if domain["kind"] == "float":
            return optuna.distributions.FloatDistribution(domain["min"], domain["max"])
        values = domain["values"]
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        if numbers and values == sorted(values):
            # Numbers have an order, which categories would hide: their places stand for them.
            return optuna.distributions.IntDistribution(0, len(values) - 1)
        return optuna.distributions.CategoricalDistribution(values)

    def is_placed(self, parameter):
        distribution = self.distributions[parameter["name"]]
        return parameter["domain"]["kind"] == "values" and isinstance(distribution, optuna.distributions.IntDistribution)

    def next(self):
        tried = len(self.tried) - len(self.forbidden)
        # Where nothing has been tried, the explorer says what is wrong.
        is_in_vain = self.in_vain >= MOST_IN_VAIN and tried > 0
        if tried >= self.wanted or is_in_vain:
            return None
        return (self.proposed() if self.in_vain < PROPOSED_IN_VAIN else None) or self.another()

    def proposed(self):
        """What the sampler proposes that was not tried; None where it proposes only what was."""
        for _ in range(100):
            trial = self.study.ask()
            configuration = self.configuration(lambda parameter: self.suggested(trial, parameter))
            key = json.dumps(configuration, sort_keys=True)
            if key not in self.tried:
                self.asked[key] = trial
                return configuration
            # It tells nothing new.
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return None

    def suggested(self, trial, parameter):
        name, distribution = parameter["name"], self.distributions[parameter["name"]]
        if isinstance(distribution, optuna.distributions.CategoricalDistribution):
            return trial.suggest_categorical(name, distribution.choices)
        if isinstance(distribution, optuna.distributions.FloatDistribution):
            return trial.suggest_float(name, distribution.low, distribution.high)
        number = trial.suggest_int(name, distribution.low, distribution.high, step=distribution.step)
        return parameter["domain"]["values"][number] if self.is_placed(parameter) else number

    def another(self):
        """A configuration at random that was not tried, where there is one."""
        for _ in range(1000):
            drawn = self.configuration(self.drawn)
            if json.dumps(drawn, sort_keys=True) not in self.tried:
                return drawn
        return None

    def drawn(self, parameter):
        values = self.values(parameter)
        domain = parameter["domain"]
        return self.random.choice(values) if values else self.random.uniform(domain["min"], domain["max"])

    def stop_run(self, configuration, metric, value):
        key = json.dumps(configuration, sort_keys=True)
        trial = self.asked.get(key)
        if not self.prunes or trial is None or metric != self.objectives[0]["metric"] or not math.isfinite(value):
            return False
        # Of several runs of a configuration the first one decides.
        if key not in self.tried:
            trial.report(value, self.step)
            self.is_hopeless = trial.should_prune()
        self.step += 1
        return self.is_hopeless

    def result(self, trial):
        configuration = trial["configuration"]
        key = json.dumps(configuration, sort_keys=True)
        if trial["outcome"] == "forbidden":
            self.forbidden.add(key)
            self.in_vain += 1
            if key not in self.asked:
                # Drawn at random: the sampler need not know of all of these.
                self.tried[key] = []
                return
        else:
            self.in_vain = 0
        self.step = 0
        known = self.tried.setdefault(key, [])
        known.append([trial["metrics"].get(one["metric"]) for one in self.objectives])
        if len(known) != (self.trials if trial["trial"] is not None else 1):
            return
        self.is_hopeless = False
        good = [values for values in known if None not in values]
        if good:
            self.tell(key, configuration, [statistics.fmean(column) for column in zip(*good)])
        elif (worst := self.worst()) is not None:
            # As bad as the worst so far, so that it is not asked for again.
            self.tell(key, configuration, worst)

    def tell(self, key, configuration, values):
        trial = self.asked.pop(key, None)
        if trial is not None:
            self.study.tell(trial, values)
            return
        # Nobody has asked Optuna.
        places = {one["name"]: one for one in self.parameters}
        asked = {
            name: places[name]["domain"]["values"].index(value) if self.is_placed(places[name]) else value
            for name, value in configuration.items()
        }
        distributions = {name: self.distributions[name] for name in configuration}
        self.study.add_trial(optuna.trial.create_trial(params=asked, distributions=distributions, values=values))

    def conclusions(self):
        if self.in_vain < MOST_IN_VAIN:
            return []
        tried = len(self.tried) - len(self.forbidden)
        return [
            f"only {tried} of {self.wanted} configurations were tried: constraints forbid the last {self.in_vain} "
            "that the sampler proposed; there may be more"
        ]

    def worst(self):
        good = [values for known in self.tried.values() for values in known if None not in values]
        if not good:
            return None
        columns = zip(*good)
        return [min(column) if one["maximise"] else max(column) for one, column in zip(self.objectives, columns)]
