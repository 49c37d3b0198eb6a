// What threads did to connections over TLS, or to such as several of them had: the cycle of the event loop in which most
// threads had one, step by step, and all that was done in the shown time, read for read with bytes asked for and got.
import { useMemo } from 'react';
import type { StoreOperation, StoreRow, StoreTables, StoreTouched } from '../../model/interface';
import { useSharedRange } from '../../model/recording';
import { withMargin } from '../../draw/time-scale';
import { wordBytes, wordCount, wordTime } from '../../model/wording';
import { DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { PlaceLink } from '../../parts/place-link';
import { keyOfServer, nameOfClient, nameOfServer } from './server-names';
import { nameOfOperation, useStoreOperations } from './use-store-operations';

/** More rows than this are not asked about at once. */
const MOST_ROWS = 10_000;
const WIDE = 1_000;

export function OperationsOfThreads({ told, rows }: { told: StoreTables; rows: readonly StoreRow[] }) {
  const { range } = useSharedRange();
  const shown = useMemo(() => rows.filter(({ kind }) => kind === 'connection-operations'), [rows]);
  const asked = useMemo(() => shown.slice(0, MOST_ROWS).map(({ row }) => row), [shown]);
  const { operations, complete } = useStoreOperations(asked, range);
  const several = told.servers.length > 1;
  const columns = useMemo(() => columnsOf(told, shown, several), [told, shown, several]);
  return (
    <div className="view-column">
      {told.touched.map((touched) => (
        <Touched key={keyOfServer(touched)} touched={touched} several={several} />
      ))}
      <div className="view-rest">
        <DataTable
          name="What threads did to connections"
          rows={operations}
          columns={columns}
          keyOf={(one) => `${one.row} ${one.at_ns} ${one.operation}`}
          saveAs="store-operations"
          heading={
            <h2>
              What threads did to connections in the shown time
              {!complete && <span className="muted"> (the first {wordCount(operations.length)})</span>}
            </h2>
          }
          empty="Nothing was done to a connection over TLS in the shown time"
        />
      </div>
    </div>
  );
}

/** Not a finding: that the main thread leaves reading to others is as it should be. */
function Touched({ touched, several }: { touched: StoreTouched; several: boolean }) {
  const { bounds } = useSharedRange();
  const { begin_ns: begin, end_ns: end } = touched;
  const range = withMargin({ begin, end: Math.max(end, begin + WIDE) }, 0.5, bounds);
  return (
    <details className="panel store-touched">
      <summary>
        {several && <span className="muted">{nameOfServer(touched)}: </span>}
        {touched.connections === 1
          ? '1 connection was'
          : `${wordCount(touched.connections)} connections were`}{' '}
        in the hands of several threads within one turn of the event loop ({wordCount(touched.cycles)} times):
        at most {wordCount(touched.threads)}, descriptor {touched.fd}
      </summary>
      <p>
        <PlaceLink to={{ range, at: begin }}>Show it</PlaceLink>
      </p>
      <pre className="store-steps">{touched.steps.join('\n')}</pre>
    </details>
  );
}

function columnsOf(
  told: StoreTables,
  rows: readonly StoreRow[],
  several: boolean,
): DataColumn<StoreOperation>[] {
  const rowOf = new Map(rows.map((row) => [row.row, row]));
  const clients = new Map(told.clients.map((client) => [`${keyOfServer(client)} ${client.client}`, client]));
  const mainOf = new Map(told.servers.map((server) => [keyOfServer(server), server.pid]));
  const clientOf = ({ row }: StoreOperation) => {
    const of = rowOf.get(row)!;
    const client = clients.get(`${keyOfServer(of)} ${of.number}`);
    return client ? nameOfClient(client) : `client ${of.number}`;
  };
  const serverOf = ({ row }: StoreOperation) => nameOfServer(rowOf.get(row)!);
  const threadOf = ({ row, tid }: StoreOperation) => {
    if (tid === null) return 'not told';
    return tid === mainOf.get(keyOfServer(rowOf.get(row)!)) ? `main ${tid}` : `I/O ${tid}`;
  };
  const bytes = (key: 'asked' | 'got', title: string): DataColumn<StoreOperation> => ({
    key,
    title,
    width: 110,
    align: 'right',
    value: (one) => one[key] ?? -1,
    cell: (one) => (one.asked === null ? '' : one[key] === null ? 'nothing' : wordBytes(one[key])),
  });
  return [
    {
      key: 'at',
      title: 'When',
      width: 150,
      align: 'right',
      value: (one) => one.at_ns,
      cell: (one) => (
        <PlaceLink to={{ at: one.at_ns }} title="Mark it on the time lines">
          {wordTime(one.at_ns, 100)}
        </PlaceLink>
      ),
    },
    ...(several ? [{ key: 'server', title: 'Server', width: 120, value: serverOf }] : []),
    { key: 'client', title: 'Connection', width: 250, value: clientOf },
    { key: 'thread', title: 'Thread', width: 130, value: threadOf },
    { key: 'operation', title: 'Did', grow: 1, value: (one) => nameOfOperation(one.operation) },
    bytes('asked', 'Asked for'),
    bytes('got', 'Got'),
  ];
}
