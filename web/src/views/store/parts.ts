// The parts of the store's view below its time lines, and which of them there is anything to show of. Which one is
// shown, the address says. Pure.
import type { StoreRow, StoreTables } from '../../model/interface';

export const PART_TITLES = {
  findings: 'What stands out',
  commands: 'Commands',
  slowest: 'Slowest commands',
  clients: 'Clients',
  servers: 'Servers',
  bus: 'Cluster bus',
  hops: 'Between nodes',
  operations: 'Threads on connections',
} as const;
export type PartName = keyof typeof PART_TITLES;
export type TableName = Exclude<PartName, 'findings' | 'operations'>;

const ONLY_WHERE_ANY: ReadonlySet<PartName> = new Set(['findings', 'bus', 'hops']);
const NO_ROWS: readonly StoreRow[] = [];

/** Those that there is anything to show of, in the order in which they are offered. */
export function partsToShow(told: StoreTables, rows = NO_ROWS): PartName[] {
  const names = Object.keys(PART_TITLES) as PartName[];
  return names.filter((name) => {
    if (name === 'operations') return rows.some(({ kind }) => kind === 'connection-operations');
    return !ONLY_WHERE_ANY.has(name) || told[name].length > 0;
  });
}

/** The one that is shown, by what the address says. */
export function partShown(name: string | undefined, told: StoreTables, rows = NO_ROWS): PartName {
  const parts = partsToShow(told, rows);
  return parts.find((part) => part === name) ?? parts[0]!;
}
