// The parts of the store's view below its time lines, and which of them there is anything to show of. Which one is
// shown, the address says. Pure.
import type { StoreTables } from '../../model/interface';

export const PART_TITLES = {
  findings: 'What stands out',
  commands: 'Commands',
  slowest: 'Slowest commands',
  clients: 'Clients',
  servers: 'Servers',
  bus: 'Cluster bus',
} as const;
export type PartName = keyof typeof PART_TITLES;
export type TableName = Exclude<PartName, 'findings'>;

/** Those that there is anything to show of, in the order in which they are offered. */
export function partsToShow(told: StoreTables): PartName[] {
  const names = Object.keys(PART_TITLES) as PartName[];
  return names.filter((name) => (name !== 'findings' && name !== 'bus') || told[name].length > 0);
}

/** The one that is shown, by what the address says. */
export function partShown(name: string | undefined, told: StoreTables): PartName {
  const parts = partsToShow(told);
  return parts.find((part) => part === name) ?? parts[0]!;
}
