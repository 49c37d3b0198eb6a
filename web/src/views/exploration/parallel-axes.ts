// The axes of parallel coordinates: where a configuration crosses each, and which configurations a brush leaves. A
// parameter's values stand evenly, in their order; an objective's by size. Pure.
import { wordShort, wordValue } from '../../model/exploration-words';
import type { Exploration, TriedConfiguration } from '../../model/interface';

/** A stretch of an axis, from 0 (its foot) to 1. */
export interface Stretch {
  from: number;
  to: number;
}

/** By the key of an axis: which stretch a configuration has to cross. */
export type Brush = Readonly<Record<string, BrushedStretch>>;

export interface BrushedStretch extends Stretch {
  /** Where a configuration crosses the axis; null where it has no value. */
  place: (row: TriedConfiguration) => number | null;
}

export interface ParallelAxis {
  key: string;
  title: string;
  unit: string;
  isObjective: boolean;
  marks: { at: number; label: string }[];
  /** From 0 to 1; null where it has no value. */
  place: (row: TriedConfiguration) => number | null;
  /** What stands at a place of the axis, in words. */
  wordAt: (at: number) => string;
  /** How far an arrow key goes. */
  step: number;
}

const MOST_LABELS = 9;

export function parallelAxes({ parameters, results }: Exploration): ParallelAxis[] {
  const ofParameters = parameters
    .filter(({ values }) => values.length > 0)
    .map(({ name, values }): ParallelAxis => {
      const places = new Map(values.map((value, index) => [value, placeOf(index, values.length)]));
      const every = Math.ceil(values.length / MOST_LABELS);
      return {
        key: `parameter ${name}`,
        title: name,
        unit: '',
        isObjective: false,
        marks: values.flatMap((value, index) =>
          index % every === 0 ? [{ at: placeOf(index, values.length), label: wordValue(value) }] : [],
        ),
        place: (row) => places.get(row.configuration[name]!) ?? null,
        wordAt: (at) => wordValue(values[Math.round(at * (values.length - 1))]),
        step: 1 / Math.max(1, values.length - 1),
      };
    });
  const ofObjectives = results.objectives.flatMap(({ metric, unit }): ParallelAxis[] => {
    const means = results.configurations.flatMap((row) => row.metrics[metric]?.mean ?? []);
    const least = means.reduce((one, other) => Math.min(one, other), Infinity);
    const most = means.reduce((one, other) => Math.max(one, other), -Infinity);
    if (means.length === 0) return [];
    const numberAt = (at: number) => (most > least ? least + at * (most - least) : least);
    return [
      {
        key: `objective ${metric}`,
        title: metric,
        unit,
        isObjective: true,
        marks: (most > least ? [0, 0.25, 0.5, 0.75, 1] : [0.5]).map((at) => ({
          at,
          label: wordShort(numberAt(at)),
        })),
        place: (row) => {
          const mean = row.metrics[metric]?.mean;
          if (mean === undefined) return null;
          return most > least ? (mean - least) / (most - least) : 0.5;
        },
        wordAt: (at) => wordShort(numberAt(at)),
        step: 0.05,
      },
    ];
  });
  return [...ofParameters, ...ofObjectives];
}

function placeOf(index: number, count: number): number {
  return count === 1 ? 0.5 : index / (count - 1);
}

/** A little more than the stretch, so that a value at its end lies in it. */
const ROOM = 1e-6;

export function isWithin(row: TriedConfiguration, brush: Brush): boolean {
  return Object.values(brush).every(({ from, to, place }) => {
    const at = place(row);
    return at !== null && at >= from - ROOM && at <= to + ROOM;
  });
}

/** Another stretch of an axis; none of it where it is all of the axis. */
export function brushed(brush: Brush, axis: ParallelAxis, stretch: Stretch | null): Brush {
  const { [axis.key]: _, ...others } = brush;
  if (stretch === null) return others;
  const from = Math.max(0, Math.min(stretch.from, stretch.to));
  const to = Math.min(1, Math.max(stretch.from, stretch.to));
  return from <= 0 && to >= 1 ? others : { ...others, [axis.key]: { from, to, place: axis.place } };
}

/** What an arrow key makes of one end of the stretch; the ends do not pass each other. */
export function moved(stretch: Stretch, end: 'from' | 'to', by: number): Stretch {
  const next = Math.min(1, Math.max(0, stretch[end] + by));
  return end === 'from'
    ? { ...stretch, from: Math.min(next, stretch.to) }
    : { ...stretch, to: Math.max(next, stretch.from) };
}
