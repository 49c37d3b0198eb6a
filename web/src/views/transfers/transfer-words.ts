// Words for what programs receive and never use: of fields, of what agents left out, of paths of services. The same as
// `slowpath transfers` prints. Pure.
import type {
  FieldUse,
  NoPath,
  Transfer,
  TransferredField,
  TransfersLeftOut,
  TransfersOnServices,
} from '../../model/interface';
import { wordCount, wordNumberOf, wordShare } from '../../model/wording';

const USE_WORDS: Record<Exclude<FieldUse, 'censored'>, string> = {
  always: 'always',
  sometimes: 'sometimes',
  printed: 'only logged or compared',
  never: 'never',
  not_yet: 'not yet',
  absent: 'always null',
  unknown: 'unknown',
};

/** What use a field is of. */
export function wordRead({ use, censored_used: censored }: TransferredField): string {
  return use === 'censored' ? `in ${wordCount(censored)} censored` : USE_WORDS[use];
}

const NO_PATH_WORDS: Record<NoPath, string> = {
  no_process: 'no span is of the process at that time (attribute process.pid)',
  no_call: 'no call that spans tell of goes to the endpoint',
  ambiguous:
    'several paths and several places of the program have the endpoint in common, and no span names their methods',
  not_told: 'the calls lie deeper than paths are told, or in no request',
};

export function wordNoPath(why: NoPath): string {
  return NO_PATH_WORDS[why];
}

const LEFT_OUT_WORDS: Record<keyof TransfersLeftOut, string> = {
  responses_without_context: 'responses stand nowhere below: there are too many contexts',
  responses_without_objects:
    'responses stand nowhere below: no objects of the application were seen where they arrive',
  responses_not_looked_into: 'responses stand nowhere below: none of those that arrive there was looked into',
  failures: 'responses could not be looked into',
  classes_not_rewritten: 'classes could not be rewritten: what they read was not watched',
  reads_unseen: 'objects were not watched: reads of their class might be missed',
  too_many: 'objects were not watched: too many were',
  registers_busy: 'objects were not watched: no debug register was free, or aiming-share was used up',
};

/** A sentence for each kind of thing that agents could not count or watch; none where that is nothing. */
export function wordsLeftOut(leftOut: TransfersLeftOut): string[] {
  const names = Object.keys(LEFT_OUT_WORDS) as (keyof TransfersLeftOut)[];
  return names
    .filter((name) => leftOut[name] > 0)
    .map((name) => `${wordCount(leftOut[name])} ${LEFT_OUT_WORDS[name]}`);
}

/** How many rows lie on paths of services, and why others do not. */
export function wordsOfServices(services: TransfersOnServices): string[] {
  const { rows_on_paths: on, rows_without: without } = services;
  const requests = wordNumberOf(services.requests, 'request');
  const reasons = Object.keys(NO_PATH_WORDS) as NoPath[];
  return [
    `${wordCount(on)} on a path of services, by rank, of ${requests}`,
    ...reasons
      .filter((why) => without[why] > 0)
      .map((why) => `${wordCount(without[why])} on no path: ${wordNoPath(why)}`),
  ];
}

/** A class without its package. */
export function shortClass(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

export interface Use {
  used: number;
  printed: number;
  unused: number;
  /** Bounds of the share used. */
  low: number;
  high: number;
}

/** Shares of objects by what use was made of a field, from 0 to 1; null where none is decided. */
export function useOf(field: TransferredField): Use | null {
  const { utilisation, printed_share: printed } = field;
  if (utilisation === null || printed === null) return null;
  return {
    used: utilisation.share,
    printed,
    // Nothing where nothing is unused, which rounding might make a little.
    unused: field.unused === 0 ? 0 : 1 - utilisation.share - printed,
    low: utilisation.low,
    high: utilisation.high,
  };
}

export function wordUse(use: Use): string {
  const parts = [
    `used ${wordShare(use.used)} (${wordShare(use.low)} to ${wordShare(use.high)})`,
    ...(use.printed > 0 ? [`only printed ${wordShare(use.printed)}`] : []),
    ...(use.unused > 0 ? [`unused ${wordShare(use.unused)}`] : []),
  ];
  return parts.join(', ');
}

const WHY_CENSORED = 'they outlived their requests, were copied, or may have been read unseen';

/** The numbers of objects on which a row rests, those that are 0 left out but for the first. */
export function wordObjects({ decided, censored, lost, too_large: tooLarge }: Transfer): string {
  return [
    `${wordCount(decided)} decided`,
    ...(censored > 0 ? [`${wordCount(censored)} censored: ${WHY_CENSORED}`] : []),
    ...(lost > 0 ? [`${wordCount(lost)} lost: their reads could not be followed`] : []),
    ...(tooLarge > 0
      ? [
          `${wordNumberOf(tooLarge, 'response')} had too many objects or classes to see them all: how many there are is estimated`,
        ]
      : []),
  ].join('; ');
}
