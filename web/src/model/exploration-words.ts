// Words for what an exploration found, the same as `slowpath explore` prints, so that page and command never differ.
// Pure; numbers in general are wording.ts's.
import type {
  Configuration,
  ExplorationState,
  ExploredMetric,
  Importance,
  ImportanceMethod,
  MeanDifference,
  MetricOfConfiguration,
  ParameterValue,
  TriedConfiguration,
} from './interface';
import { wordNumberOf } from './wording';

/** A number with four digits that count, or all before the point; a tie goes to the even digit. */
export function wordNumber(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-6 || size >= 1e15) return value.toExponential(3).replace('e+', 'e');
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  const scaled = size * 10 ** digits;
  const below = Math.floor(scaled);
  const isTie = scaled - below === 0.5 && below % 2 === 0;
  return (isTie ? (Math.sign(value) * below) / 10 ** digits : value).toFixed(digits);
}

const SHORT_UNITS: readonly [number, string][] = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** At most three digits that count, for where there is little room. */
export function wordShort(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-3 || size >= 1e12) return value.toExponential(1).replace('e+', 'e');
  const [factor, unit] = SHORT_UNITS.find(([factor]) => size >= 0.9995 * factor) ?? [1, ''];
  const digits = Math.max(0, 2 - Math.floor(Math.log10(size / factor) + 1e-9));
  const text = (value / factor).toFixed(Math.min(digits, 5));
  return `${text.includes('.') ? text.replace(/\.?0+$/, '') : text}${unit}`;
}

/** A mean with half of its interval, where it has one. */
export function wordMean({
  mean,
  half_width: half,
}: Pick<MetricOfConfiguration, 'mean' | 'half_width'>): string {
  return half === null ? wordNumber(mean) : `${wordNumber(mean)} ± ${wordNumber(half)}`;
}

/** "+1.2 to +3.4 %" of the best. */
export function wordAgainst(difference: MeanDifference | null, best: number | undefined): string {
  if (difference === null || best === undefined) return '';
  const { low, high } = difference;
  if (best === 0) return [low, high].map((part) => (part < 0 ? '' : '+') + wordNumber(part)).join(' to ');
  return `${wordPercent(low / Math.abs(best))} to ${wordPercent(high / Math.abs(best))} %`;
}

/** A share in percent with its sign, without the unit. */
export function wordPercent(share: number): string {
  const text = (100 * share).toFixed(1);
  return share < 0 ? text.replace('-', '−') : `+${text}`;
}

export function wordValue(value: ParameterValue | undefined): string {
  return value === undefined ? '–' : String(value);
}

/** "threads=3 cache_mib=64", in the order of the names. */
export function wordConfiguration(configuration: Configuration, names: readonly string[]): string {
  return names
    .filter((name) => configuration[name] !== undefined)
    .map((name) => `${name}=${wordValue(configuration[name])}`)
    .join(' ');
}

/** A text of so many letters at most: of a longer one the begin and, as long options differ there, the end. */
export function wordBrief(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const end = Math.floor((most - 1) / 3);
  return `${letters.slice(0, most - 1 - end).join('')}…${letters.slice(letters.length - end).join('')}`;
}

export function withUnit(name: string, unit: string): string {
  return unit === '' ? name : `${name} (${unit})`;
}

const GOOD_OUTCOMES = ['good', 'stopped'];

export function wordFailures({ outcomes }: Pick<TriedConfiguration, 'outcomes'>): string {
  return Object.entries(outcomes)
    .filter(([name]) => !GOOD_OUTCOMES.includes(name))
    .map(([name, count]) => `${name} ${count}×`)
    .join(', ');
}

/** How many trials have a result of how many: "3", or "2 of 3". */
export function wordTrials({ outcomes }: Pick<TriedConfiguration, 'outcomes'>): string {
  const all = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  const good = GOOD_OUTCOMES.reduce((sum, name) => sum + (outcomes[name] ?? 0), 0);
  return good === all ? String(all) : `${good} of ${all}`;
}

/** Why a place of a heat map has no mean; trials that the policy stopped count for nothing where others ran to their end. */
export function wordNoMean(failed: number): string {
  return failed > 0 ? `${wordNumberOf(failed, 'trial')} failed` : 'stopped early';
}

/** How a configuration stands to the best, as the table of the command has it. */
export function wordStanding(row: TriedConfiguration): string {
  switch (row.standing) {
    case 'best':
      return ['best', wordFailures(row)].filter((word) => word !== '').join(', ');
    case 'not-told-apart':
      return '≈ best';
    case 'worse':
      return 'worse';
    case 'no-interval':
      return '?';
    case 'unreliable':
    case 'failed':
      return wordFailures(row);
  }
}

/** The same in a sentence; `confidence` from 0 to 1. */
export function sentenceOfStanding(row: TriedConfiguration, confidence: number): string {
  const percent = `${Math.round(100 * confidence)} %`;
  const failed = wordFailures(row);
  switch (row.standing) {
    case 'best':
      return `It has the best mean of the first objective.${failed === '' ? '' : ` Some of its trials failed: ${failed}.`}`;
    case 'not-told-apart':
      return `It cannot be told from the best: 0 lies in the ${percent} interval of the difference.`;
    case 'worse':
      return `It is worse than the best: the ${percent} interval of the difference says so.`;
    case 'no-interval':
      return 'There are too few trials to say whether it differs from the best.';
    case 'unreliable':
      return `Some of its trials failed: ${failed}.`;
    case 'failed':
      return `All of its trials failed: ${failed}.`;
  }
}

export const STATE_OF_EXPLORATION: Record<ExplorationState, string> = {
  running: 'running',
  explaining: 'looking for reasons',
  ended: 'ended',
  interrupted: 'interrupted',
};

const METHOD_WORDS: Record<ImportanceMethod, string> = {
  'main-effects':
    'Shares of the variance between configurations: main effects, functional ANOVA of the whole grid.',
  additive:
    'Shares of the variance, each value counted once: effects that add up, fitted to what was tried; not a whole grid, so what parameters do only together is not known.',
};

/** How importance was computed, and what it leaves open. */
export function sentencesOfMethod({
  method,
  not_explained: open,
}: Pick<Importance, 'method' | 'not_explained'>): string {
  const why = 'Not explained is what noise, values taken together in groups and parameters together do.';
  return open === null ? METHOD_WORDS[method] : `${METHOD_WORDS[method]} ${why}`;
}

export function wordGoal({ goal }: Pick<ExploredMetric, 'goal'>): string {
  if (goal === null) return '';
  return goal === 'maximise' ? 'more is better' : 'less is better';
}

/** What time alone did to an objective. */
export function sentenceOfDrift(metric: string, change: MeanDifference | null, confidence: number): string {
  if (change === null)
    return `Too little was repeated over the whole time to tell whether ${metric} drifts with time.`;
  const interval = `${wordPercent(change.low)} to ${wordPercent(change.high)} % from the first trial to the last (${Math.round(100 * confidence)} % interval)`;
  return change.low > 0 || change.high < 0
    ? `${metric} drifts with time alone: ${interval}. Rounds interleave configurations, so that comparisons hold.`
    : `No drift of ${metric} is told: ${interval}.`;
}
