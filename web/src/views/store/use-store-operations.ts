// What threads did to connections in the shown time, one after the other, of the rows that show it: asked for when
// zooming and scrolling pause.
import { useMemo } from 'react';
import type { TimeRange } from '../../draw/time-scale';
import { useAnswer } from '../../model/answers';
import type { StoreOperation, StoreOperations } from '../../model/interface';
import { useSettled } from '../../parts/settled';
import { wordBytes } from '../../model/wording';

/** As many as anybody reads. */
const MOST_OPERATIONS = 1000;
const NONE: StoreOperations = { operations: [], complete: true };

export function useStoreOperations(rows: readonly number[], range: TimeRange): StoreOperations {
  const settled = useSettled(range);
  const question = useMemo(() => {
    if (rows.length === 0) return null;
    const body = { rows, begin_ns: settled.begin, end_ns: settled.end, limit: MOST_OPERATIONS };
    return { path: '/api/store/operations', body };
  }, [rows, settled]);
  return useAnswer<StoreOperations>(question).value ?? NONE;
}

/** As Redis's own functions are called, which is what findings and bug reports name. */
const NAMES: Record<string, string> = {
  'tls-read': 'ssl_read',
  'read-postponed': 'read_postponed',
  freed: 'free_client',
  'unwatched-in-part': 'delete_file_event (in part)',
  unwatched: 'delete_file_event',
};

export function nameOfOperation(operation: string): string {
  return NAMES[operation] ?? operation;
}

/** `ssl_read 101 B of 16 KiB, thread 305`. */
export function wordOperation({ operation, asked, got, tid }: StoreOperation): string {
  const bytes = asked === null ? '' : ` ${got === null ? 'nothing' : wordBytes(got)} of ${wordBytes(asked)}`;
  return `${nameOfOperation(operation)}${bytes}${tid === null ? '' : `, thread ${tid}`}`;
}
