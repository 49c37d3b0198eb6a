"""The policy `optuna` of `slowpath explore`: Optuna's TPE chooses from what was measured.

Needs the package optuna. Options: configurations (how many are tried), startup (how many at random first), and any
other argument of optuna.samplers.TPESampler.
"""

try:
    import optuna
except ImportError:
    raise ImportError(
        "this Python has no optuna\n  hint: `pip install optuna`, or name a Python that has it by `interpreter` in [policy]"
    ) from None

import json
import statistics
import warnings

from slowpath_policy import Policy


class Optuna(Policy):
    def begin(self):
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        options = dict(self.options)
        self.wanted = options.pop("configurations", 30)
        options.setdefault("n_startup_trials", options.pop("startup", 10))
        directions = ["maximize" if one["maximise"] else "minimize" for one in self.objectives]
        # Without a tree of their own, parameters are modelled one by one, which loses what they do together.
        options.setdefault("multivariate", True)
        options.setdefault("group", True)
        sampler = optuna.samplers.TPESampler(seed=self.seed, **options)
        self.study = optuna.create_study(directions=directions, sampler=sampler)
        self.tried = {}
        self.distributions = {one["name"]: self.distribution(one) for one in self.parameters}

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
        if len(self.tried) >= self.wanted:
            return None
        # One that was tried already tells nothing new: it is told again what came of it.
        for _ in range(100):
            trial = self.study.ask()
            configuration = self.configuration(lambda parameter: self.suggested(trial, parameter))
            key = json.dumps(configuration, sort_keys=True)
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            if key not in self.tried:
                return configuration
        return self.another()

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

    def result(self, trial):
        configuration = trial["configuration"]
        key = json.dumps(configuration, sort_keys=True)
        known = self.tried.setdefault(key, [])
        known.append([trial["metrics"].get(one["metric"]) for one in self.objectives])
        if len(known) != (self.trials if trial["trial"] is not None else 1):
            return
        good = [values for values in known if None not in values]
        places = {one["name"]: one for one in self.parameters}
        asked = {
            name: places[name]["domain"]["values"].index(value) if self.is_placed(places[name]) else value
            for name, value in configuration.items()
        }
        distributions = {name: self.distributions[name] for name in configuration}
        if good:
            means = [statistics.fmean(column) for column in zip(*good)]
            told = optuna.trial.create_trial(params=asked, distributions=distributions, values=means)
        else:
            # As bad as the worst so far, so that it is not asked for again.
            worst = self.worst()
            if worst is None:
                return
            told = optuna.trial.create_trial(params=asked, distributions=distributions, values=worst)
        self.study.add_trial(told)

    def worst(self):
        good = [values for known in self.tried.values() for values in known if None not in values]
        if not good:
            return None
        columns = zip(*good)
        return [min(column) if one["maximise"] else max(column) for one, column in zip(self.objectives, columns)]
