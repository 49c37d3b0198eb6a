// The analyses of the whole recording as tables with bars: use of processors, input and output, latencies,
// counts of events. Which one is shown, the address says.
import { useMemo } from 'react';
import { useAnswer } from '../../model/answers';
import { withQuery } from '../../model/client';
import {
  LATENCY_KINDS,
  type CountReport,
  type IoReport,
  type LatencyReport,
  type LatencyKind,
  type CpuReport,
} from '../../model/interface';
import { addressOf, go, usePlace } from '../../model/place-store';
import { useHasKernel } from '../../model/recording';
import { wordBytes, wordCount, wordDuration, wordShare } from '../../model/wording';
import { BarCell, DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { Answered, NoKernel } from '../../parts/notices';

const KINDS = ['cpu', 'io', 'latency', 'count'] as const;
type Kind = (typeof KINDS)[number];
const TITLES: Record<Kind, string> = {
  cpu: 'Processor use',
  io: 'Input and output',
  latency: 'Latencies',
  count: 'Counts of events',
};
const LATENCY_TITLES: Record<LatencyKind, string> = {
  syscall: 'System calls',
  irq: 'Interrupts',
  softirq: 'Soft interrupts',
  block: 'Block devices',
  wakeup: 'From wake-up to running',
};

export function Analyses() {
  const hasKernel = useHasKernel();
  const { filters } = usePlace();
  const kind = KINDS.find((name) => name === filters.kind) ?? 'cpu';
  const latency = LATENCY_KINDS.find((name) => name === filters.latency) ?? 'syscall';
  return (
    <div className="view-column">
      <div className="tool-bar">
        <span className="choice" role="group" aria-label="Analysis">
          {KINDS.map((name) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === kind}
              onClick={() => go({ filters: { kind: name } })}
            >
              {TITLES[name]}
            </button>
          ))}
        </span>
        {kind === 'latency' && (
          <span className="choice" role="group" aria-label="Latencies of">
            {LATENCY_KINDS.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={name === latency}
                onClick={() => go({ filters: { latency: name } })}
              >
                {LATENCY_TITLES[name]}
              </button>
            ))}
          </span>
        )}
      </div>
      <div className="view-rest">
        {kind === 'count' ? (
          <CountTable />
        ) : !hasKernel ? (
          <NoKernel />
        ) : kind === 'cpu' ? (
          <ProcessorTables />
        ) : kind === 'io' ? (
          <InputOutputTables />
        ) : (
          <LatencyTable key={latency} kind={latency} />
        )}
      </div>
    </div>
  );
}

interface HostRow {
  host?: string;
}

function hostColumn<R extends HostRow>(rows: readonly R[]): DataColumn<R>[] {
  return rows.some((row) => row.host !== undefined)
    ? [{ key: 'host', title: 'Host', width: 140, value: (row) => row.host ?? '' }]
    : [];
}

function largestOf<R>(rows: readonly R[], value: (row: R) => number): number {
  return rows.reduce((most, row) => Math.max(most, value(row)), 1);
}

/** A column of numbers with a bar for how large they are of the largest. */
function barColumn<R>(
  rows: readonly R[],
  key: string,
  title: string,
  value: (row: R) => number,
  word: (value: number) => string,
  width = 150,
): DataColumn<R> {
  const largest = largestOf(rows, value);
  return {
    key,
    title,
    width,
    align: 'right',
    value,
    cell: (row) => <BarCell share={value(row) / largest}>{word(value(row))}</BarCell>,
  };
}

const percent = (value: number) => wordShare(value / 100);

function ProcessorTables() {
  const answer = useAnswer<CpuReport>({ path: '/api/analyses/cpu' });
  return <Answered answer={answer}>{(value) => <ProcessorUseTables use={value} />}</Answered>;
}

function ProcessorUseTables({ use }: { use: CpuReport }) {
  const { threads, cpus } = use;
  const threadColumns = useMemo<DataColumn<CpuReport['threads'][number]>[]>(
    () => [
      {
        key: 'comm',
        title: 'Thread',
        grow: 2,
        value: (row) => row.comm || 'unnamed',
        cell: (row) => (
          <a href={addressOf({ view: 'threads', filters: { text: String(row.tid) } })}>
            {row.comm || 'unnamed'}
          </a>
        ),
      },
      { key: 'tid', title: 'Number', width: 90, align: 'right', value: (row) => row.tid },
      ...hostColumn(threads),
      barColumn(threads, 'busy', 'Ran for', (row) => row.busy_ns, wordDuration, 190),
      {
        key: 'percent',
        title: 'Of the time',
        width: 100,
        align: 'right',
        value: (row) => row.percent,
        cell: (row) => percent(row.percent),
      },
    ],
    [threads],
  );
  const cpuColumns = useMemo<DataColumn<CpuReport['cpus'][number]>[]>(
    () => [
      { key: 'cpu', title: 'Processor', grow: 1, value: (row) => row.cpu, cell: (row) => `CPU ${row.cpu}` },
      ...hostColumn(cpus),
      {
        key: 'percent',
        title: 'Busy',
        width: 180,
        align: 'right',
        value: (row) => row.percent,
        cell: (row) => <BarCell share={row.percent / 100}>{percent(row.percent)}</BarCell>,
      },
    ],
    [cpus],
  );
  return (
    <div className="two-tables">
      <DataTable
        name="Threads by processor time"
        rows={threads}
        columns={threadColumns}
        keyOf={(row) => `${row.host ?? ''} ${row.tid}`}
        heading={<h2>Threads</h2>}
        saveAs="cpu-threads"
      />
      <DataTable
        name="Processors"
        rows={cpus}
        columns={cpuColumns}
        keyOf={(row) => `${row.host ?? ''} ${row.cpu}`}
        heading={<h2>Processors</h2>}
        saveAs="cpu-processors"
      />
    </div>
  );
}

function InputOutputTables() {
  const answer = useAnswer<IoReport>({ path: '/api/analyses/io' });
  return <Answered answer={answer}>{(value) => <BytesTables io={value} />}</Answered>;
}

function BytesTables({ io }: { io: IoReport }) {
  const { processes, files } = io;
  const processColumns = useMemo<DataColumn<IoReport['processes'][number]>[]>(
    () => [
      { key: 'comm', title: 'Process', grow: 1, value: (row) => row.comm || 'unnamed' },
      { key: 'pid', title: 'Number', width: 80, align: 'right', value: (row) => row.pid },
      ...hostColumn(processes),
      barColumn(processes, 'read', 'Read', (row) => row.read_bytes, wordBytes, 130),
      barColumn(processes, 'write', 'Written', (row) => row.write_bytes, wordBytes, 130),
      {
        key: 'calls',
        title: 'Calls',
        width: 90,
        align: 'right',
        value: (row) => row.reads + row.writes,
        cell: (row) => wordCount(row.reads + row.writes),
      },
    ],
    [processes],
  );
  const fileColumns = useMemo<DataColumn<IoReport['files'][number]>[]>(
    () => [
      {
        key: 'path',
        title: 'File',
        grow: 2,
        value: (row) => row.path,
        cell: (row) => <span title={row.path}>{row.path}</span>,
      },
      ...hostColumn(files),
      barColumn(files, 'read', 'Read', (row) => row.read_bytes, wordBytes, 120),
      barColumn(files, 'write', 'Written', (row) => row.write_bytes, wordBytes, 120),
    ],
    [files],
  );
  return (
    <div className="two-tables is-even">
      <DataTable
        name="Processes by input and output"
        rows={processes}
        columns={processColumns}
        keyOf={(row) => `${row.host ?? ''} ${row.pid}`}
        heading={<h2>Processes</h2>}
        saveAs="io-processes"
        empty="No process read or wrote"
      />
      <DataTable
        name="Files by input and output"
        rows={files}
        columns={fileColumns}
        keyOf={(row) => `${row.host ?? ''} ${row.path}`}
        heading={<h2>Files</h2>}
        saveAs="io-files"
        empty="No file was read or written"
      />
    </div>
  );
}

function LatencyTable({ kind }: { kind: LatencyKind }) {
  const answer = useAnswer<LatencyReport>({ path: withQuery('/api/analyses/latency', { kind }) });
  return <Answered answer={answer}>{(value) => <LatencyRows rows={value.entries} kind={kind} />}</Answered>;
}

function LatencyRows({ rows, kind }: { rows: LatencyReport['entries']; kind: LatencyKind }) {
  const columns = useMemo<DataColumn<LatencyReport['entries'][number]>[]>(() => {
    const time = (
      key: string,
      title: string,
      value: (row: LatencyReport['entries'][number]) => number,
    ): DataColumn<LatencyReport['entries'][number]> => ({
      key,
      title,
      width: 92,
      align: 'right',
      value,
      cell: (row) => wordDuration(value(row)),
    });
    return [
      { key: 'name', title: LATENCY_TITLES[kind], grow: 2, value: (row) => row.name },
      ...hostColumn(rows),
      barColumn(rows, 'count', 'Count', (row) => row.count, wordCount, 120),
      time('min', 'Shortest', (row) => row.min_ns),
      time('mean', 'Mean', (row) => row.mean_ns),
      time('p50', 'p50', (row) => row.p50_ns),
      time('p99', 'p99', (row) => row.p99_ns),
      barColumn(rows, 'max', 'Longest', (row) => row.max_ns, wordDuration, 120),
      barColumn(rows, 'total', 'In all', (row) => row.total_ns, wordDuration, 150),
    ];
  }, [rows, kind]);
  return (
    <DataTable
      name={LATENCY_TITLES[kind]}
      rows={rows}
      columns={columns}
      keyOf={(row) => `${row.host ?? ''} ${row.name}`}
      heading={<h2>{LATENCY_TITLES[kind]}</h2>}
      saveAs={`latency-${kind}`}
      empty="The recording has none of these"
    />
  );
}

function CountTable() {
  const answer = useAnswer<CountReport>({ path: '/api/analyses/count' });
  return <Answered answer={answer}>{(value) => <CountRows counts={value} />}</Answered>;
}

function CountRows({ counts }: { counts: CountReport }) {
  const rows = useMemo(() => Object.entries(counts.by).map(([name, count]) => ({ name, count })), [counts]);
  const columns = useMemo<DataColumn<{ name: string; count: number }>[]>(
    () => [
      {
        key: 'name',
        title: 'Event',
        grow: 2,
        value: (row) => row.name,
        cell: (row) => <a href={addressOf({ view: 'events', filters: { name: row.name } })}>{row.name}</a>,
      },
      barColumn(rows, 'count', 'Count', (row) => row.count, wordCount, 260),
    ],
    [rows],
  );
  return (
    <DataTable
      name="Events by name"
      rows={rows}
      columns={columns}
      keyOf={(row) => row.name}
      firstOrder={{ column: 'count', direction: 'desc' }}
      heading={
        <span>
          <strong>{wordCount(counts.events)}</strong> events in {wordCount(counts.packets)} packets of{' '}
          {wordCount(counts.streams)} streams; {wordCount(counts.lost)} lost
        </span>
      }
      saveAs="events-by-name"
    />
  );
}
