// The rows of the threads' view: processors first, then threads below their processes, the busiest process
// first; filtered by name or number. Pure.
import type { TimeRange } from '../../draw/time-scale';
import type { GraphRow } from '../../parts/time-graph/graph-types';
import type { Processor, Thread } from '../../model/interface';

export interface ThreadRow extends GraphRow {
  thread: Thread | null;
  processor: Processor | null;
}

export interface ThreadFilter {
  /** Part of the name, or a number of a thread or process. */
  text: string;
  onlyServing: boolean;
  /** "host:tid" of the only threads to show; null for all. */
  only: ReadonlySet<string> | null;
  /** Only threads that lived in this time; null for all. */
  alive: TimeRange | null;
}

export function keyOfThread(row: number): string {
  return `thread ${row}`;
}

export function threadRows(
  threads: readonly Thread[],
  processors: readonly Processor[],
  filter: ThreadFilter,
  hostName: ((host: number) => string) | null,
): ThreadRow[] {
  const rows: ThreadRow[] = [];
  const title = (host: number, text: string) => (hostName ? `${hostName(host)} · ${text}` : text);
  const hosts = [...new Set([...processors, ...threads].map((one) => one.host))].sort((a, b) => a - b);
  for (const host of hosts) {
    const ofHost = processors.filter((processor) => processor.host === host);
    if (ofHost.length === 0) continue;
    rows.push(heading(`cpus ${host}`, title(host, 'Processors')));
    for (const processor of ofHost) {
      rows.push({
        key: `cpu ${processor.row}`,
        label: `CPU ${processor.cpu}`,
        depth: 1,
        passive: true,
        thread: null,
        processor,
      });
    }
  }
  const shown = threads.filter((thread) => fitsFilter(thread, filter));
  // Of all threads: what a process is called does not depend on which of them are shown.
  const leaders = new Map(
    threads.filter(({ tid, pid }) => tid === pid).map((thread) => [`${thread.host}:${thread.tid}`, thread]),
  );
  const processes = new Map<string, Thread[]>();
  for (const thread of shown) {
    const key = `${thread.host}:${thread.pid ?? thread.tid}`;
    processes.set(key, [...(processes.get(key) ?? []), thread]);
  }
  const ordered = [...processes.entries()]
    .map(([key, members]) => ({ key, members, busy: sum(members.map(runningTime)) }))
    .sort((one, other) => one.members[0]!.host - other.members[0]!.host || other.busy - one.busy);
  for (const { key, members } of ordered) {
    const { host, pid, tid } = members[0]!;
    const leader = leaders.get(key) ?? members[0]!;
    const serving = members.some((thread) => thread.serves_requests) ? ' · serves requests' : '';
    rows.push(
      heading(`process ${key}`, title(host, `${leader.comm || 'unnamed'} (process ${pid ?? tid})${serving}`)),
    );
    for (const thread of members.sort((a, b) => runningTime(b) - runningTime(a) || a.tid - b.tid)) {
      rows.push({
        key: keyOfThread(thread.row),
        label: `${thread.comm || 'unnamed'} (${thread.tid})`,
        depth: 1,
        thread,
        processor: null,
      });
    }
  }
  return rows;
}

export function fitsFilter(thread: Thread, filter: ThreadFilter): boolean {
  if (filter.onlyServing && !thread.serves_requests) return false;
  if (filter.only && !filter.only.has(`${thread.host}:${thread.tid}`)) return false;
  const { alive } = filter;
  if (alive && (thread.end_ns <= alive.begin || thread.begin_ns >= alive.end)) return false;
  const text = filter.text.toLowerCase();
  return (
    text === '' ||
    thread.comm.toLowerCase().includes(text) ||
    String(thread.tid) === text ||
    String(thread.pid ?? '') === text
  );
}

export function runningTime(thread: Thread): number {
  return thread.states.RUNNING ?? 0;
}

function heading(key: string, label: string): ThreadRow {
  return { key, label, heading: true, height: 22, thread: null, processor: null };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
