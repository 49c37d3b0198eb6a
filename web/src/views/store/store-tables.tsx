// Commands, the slowest of them, clients, servers and messages between nodes, as tables with every number of
// `slowpath redis`.
import { useMemo } from 'react';
import type {
  StoreBusMessages,
  StoreClient,
  StoreCommand,
  StoreCommandRun,
  StoreServer,
  StoreTables as Tables,
} from '../../model/interface';
import { go, usePlace } from '../../model/place-store';
import { useSharedRange } from '../../model/recording';
import { withMargin } from '../../draw/time-scale';
import { wordBytes, wordCount, wordDuration, wordShare, wordTime } from '../../model/wording';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { PlaceLink } from '../../parts/place-link';
import { CommandDetail } from './command-detail';
import { PartsBar } from './parts-bar';
import type { TableName } from './parts';
import { StoreHops } from './store-hops';
import { keyOfServer, nameOfClient, nameOfServer } from './server-names';

export function StoreTables({ told, shown }: { told: Tables; shown: TableName }) {
  const several = told.servers.length > 1;
  switch (shown) {
    case 'commands':
      return <Commands rows={told.commands} several={several} />;
    case 'slowest':
      return <Slowest rows={told.slowest} several={several} />;
    case 'clients':
      return <Clients rows={told.clients} several={several} />;
    case 'servers':
      return <Servers rows={told.servers} />;
    case 'bus':
      return <Messages rows={told.bus} several={several} />;
    case 'hops':
      return <StoreHops rows={told.hops} />;
  }
}

interface OfServer {
  host?: string;
  server: number;
}

function serverColumn<R extends OfServer>(several: boolean): DataColumn<R>[] {
  return several ? [{ key: 'server', title: 'Server', width: 120, value: nameOfServer }] : [];
}

function column<R>(
  key: string,
  title: string,
  value: (row: R) => number,
  word: (value: number) => string,
  width = 84,
): DataColumn<R> {
  return { key, title, width, align: 'right', value, cell: (row) => word(value(row)) };
}

interface InParts {
  reading_ns: number;
  queueing_ns: number;
  executing_ns: number;
  waiting_ns: number;
  writing_ns: number;
}

function partsColumn<R extends InParts>(): DataColumn<R> {
  return {
    key: 'parts',
    title: 'Read, queued, executed, waited, written',
    grow: 1,
    value: (row) => row.executing_ns,
    cell: (row) => <PartsBar parts={row} />,
  };
}

const BY_TIME = { column: 'total', direction: 'desc' } as const;

function Commands({ rows, several }: { rows: readonly StoreCommand[]; several: boolean }) {
  const columns = useMemo<DataColumn<StoreCommand>[]>(
    () => [
      { key: 'command', title: 'Command', width: 150, value: (row) => row.command },
      ...serverColumn<StoreCommand>(several),
      column('count', 'Count', (row) => row.count, wordCount),
      column('unanswered', 'No reply', (row) => row.unanswered, wordCount, 74),
      column('mean', 'Mean', (row) => row.mean_ns, wordDuration),
      column('p50', 'p50', (row) => row.p50_ns, wordDuration),
      column('p99', 'p99', (row) => row.p99_ns, wordDuration),
      column('max', 'Longest', (row) => row.max_ns, wordDuration),
      column('total', 'In all', (row) => row.total_ns, wordDuration),
      partsColumn<StoreCommand>(),
      column('read', 'Read', (row) => row.bytes_read, wordBytes),
      column('written', 'Written', (row) => row.bytes_written, wordBytes),
    ],
    [several],
  );
  return (
    <DataTable
      name="Commands"
      rows={rows}
      columns={columns}
      keyOf={(row) => `${keyOfServer(row)} ${row.command}`}
      firstOrder={BY_TIME}
      saveAs="store-commands"
      heading={<h2>Commands</h2>}
      empty="No command was recorded"
    />
  );
}

function keyOfRun(row: StoreCommandRun): string {
  return `${keyOfServer(row)} ${row.client} ${row.begin_ns} ${row.start_ns} ${row.command}`;
}

function Slowest({ rows, several }: { rows: readonly StoreCommandRun[]; several: boolean }) {
  const { bounds } = useSharedRange();
  const { filters } = usePlace();
  const selected = rows[Number(filters.command ?? Number.NaN)];
  const columns = useMemo<DataColumn<StoreCommandRun>[]>(
    () => [
      { key: 'command', title: 'Command', width: 150, value: (row) => row.command },
      ...serverColumn<StoreCommandRun>(several),
      column('total', 'Latency', (row) => row.total_ns, wordDuration),
      partsColumn<StoreCommandRun>(),
      {
        key: 'begin',
        title: 'When',
        width: 130,
        align: 'right',
        value: (row) => row.begin_ns,
        cell: (row) => (
          <PlaceLink
            to={{
              range: withMargin({ begin: row.begin_ns, end: row.begin_ns + row.total_ns }, 0.5, bounds),
              at: row.begin_ns,
            }}
            title="Show it on the time lines"
          >
            {wordTime(row.begin_ns, 1000)}
          </PlaceLink>
        ),
      },
      { key: 'client', title: 'Client', width: 250, value: nameOfClient },
      column('batch', 'In its batch', (row) => row.batch_commands, wordCount, 90),
      { key: 'answered', title: 'Reply', width: 80, value: (row) => (row.answered ? 'yes' : 'not seen') },
    ],
    [several, bounds],
  );
  const table = (
    <DataTable
      name="Slowest commands"
      rows={rows}
      columns={columns}
      keyOf={keyOfRun}
      selected={selected ? keyOfRun(selected) : null}
      onSelect={(row) => go({ filters: { command: String(rows.indexOf(row)) } })}
      firstOrder={BY_TIME}
      saveAs="store-slowest"
      heading={<h2>Slowest commands</h2>}
      empty="No command was recorded"
    />
  );
  if (!selected) return table;
  return (
    <div className="store-slowest">
      {table}
      <CommandDetail run={selected} />
    </div>
  );
}

function Clients({ rows, several }: { rows: readonly StoreClient[]; several: boolean }) {
  const columns = useMemo<DataColumn<StoreClient>[]>(
    () => [
      { key: 'client', title: 'Client', width: 250, value: nameOfClient },
      ...serverColumn<StoreClient>(several),
      column('count', 'Commands', (row) => row.count, wordCount),
      column('unanswered', 'No reply', (row) => row.unanswered, wordCount, 74),
      { key: 'busiest', title: 'Most often', width: 120, value: (row) => row.busiest },
      column('max', 'Longest', (row) => row.max_ns, wordDuration),
      column('total', 'In all', (row) => row.total_ns, wordDuration),
      partsColumn<StoreClient>(),
      column('read', 'Read', (row) => row.bytes_read, wordBytes),
      column('written', 'Written', (row) => row.bytes_written, wordBytes),
    ],
    [several],
  );
  return (
    <DataTable
      name="Clients"
      rows={rows}
      columns={columns}
      keyOf={(row) => `${keyOfServer(row)} ${row.client}`}
      firstOrder={BY_TIME}
      saveAs="store-clients"
      heading={<h2>Clients</h2>}
      empty="No client was recorded"
    />
  );
}

function Servers({ rows }: { rows: readonly StoreServer[] }) {
  const columns = useMemo<DataColumn<StoreServer>[]>(() => {
    const share = (row: StoreServer, time: number) => time / Math.max(1, row.end_ns - row.begin_ns);
    const busy = (key: string, title: string, time: (row: StoreServer) => number) =>
      column<StoreServer>(key, title, (row) => share(row, time(row)), wordShare);
    return [
      { key: 'server', title: 'Server', grow: 1, value: nameOfServer },
      column(
        'pid',
        'Process',
        (row) => row.pid ?? 0,
        (pid) => (pid ? String(pid) : ''),
      ),
      column(
        'port',
        'Port',
        (row) => row.port,
        (port) => (port ? String(port) : ''),
        70,
      ),
      { key: 'level', title: 'Recorded', width: 90, value: (row) => row.level },
      column('clients', 'Clients', (row) => row.clients, wordCount),
      column('count', 'Commands', (row) => row.count, wordCount, 100),
      column('p99', 'p99', (row) => row.p99_ns, wordDuration),
      column('busy', 'Loop busy', (row) => row.busy.percent / 100, wordShare),
      busy('reading', 'reading', (row) => row.busy.reading_ns),
      busy('executing', 'executing', (row) => row.busy.executing_ns),
      busy('writing', 'writing', (row) => row.busy.writing_ns),
      column('read', 'Read', (row) => row.bytes_read, wordBytes),
      column('written', 'Written', (row) => row.bytes_written, wordBytes),
      column('bus', 'Over the bus', (row) => row.bus?.sent_bytes ?? 0, wordBytes, 100),
    ];
  }, []);
  return (
    <DataTable
      name="Servers"
      rows={rows}
      columns={columns}
      keyOf={keyOfServer}
      saveAs="store-servers"
      heading={<h2>Servers</h2>}
    />
  );
}

function Messages({ rows, several }: { rows: readonly StoreBusMessages[]; several: boolean }) {
  const columns = useMemo<DataColumn<StoreBusMessages>[]>(
    () => [
      { key: 'type', title: 'Message', grow: 1, value: (row) => row.type },
      ...serverColumn<StoreBusMessages>(several),
      column('sent', 'Sent', (row) => row.sent, wordCount),
      column('sent_bytes', 'Bytes', (row) => row.sent_bytes, wordBytes),
      column('broadcast', 'To all nodes', (row) => row.broadcast, wordCount, 100),
      column('broadcast_bytes', 'Their bytes', (row) => row.broadcast_bytes, wordBytes, 100),
      column('received', 'Received', (row) => row.received, wordCount),
      column('received_bytes', 'Bytes received', (row) => row.received_bytes, wordBytes, 110),
    ],
    [several],
  );
  return (
    <DataTable
      name="Messages over the cluster bus"
      rows={rows}
      columns={columns}
      keyOf={(row) => `${keyOfServer(row)} ${row.type}`}
      firstOrder={{ column: 'sent_bytes', direction: 'desc' }}
      saveAs="store-bus"
      heading={<h2>Messages over the cluster bus</h2>}
    />
  );
}
