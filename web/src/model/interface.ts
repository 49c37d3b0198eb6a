// The shapes that the server's interface (/api) asks for and answers with, under the names that it has for
// them. The types are made of the server's own (`npm run generate`); what the browser adds has no place here.
import { latencyKindValues, stateNameValues, type LatencyKind, type StateName } from './interface.generated';

export type * from './interface.generated';

/** In the order of the numbers that screens and intervals give. */
export const STATE_NAMES: readonly StateName[] = stateNameValues;
export const LATENCY_KINDS: readonly LatencyKind[] = latencyKindValues;
