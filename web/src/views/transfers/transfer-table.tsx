// Transfers ranked: a row is a class of objects by where they arrive. What of them is received in vain, how often, and on
// which path of services.
import { useMemo } from 'react';
import type { Transfer } from '../../model/interface';
import { wordBytes, wordCount, wordShare } from '../../model/wording';
import { BarCell, DataTable, type DataColumn } from '../../parts/data-table/data-table';
import { shortClass } from './transfer-words';

interface TransferTableProps {
  rows: readonly Transfer[];
  /** Whether spans tell of services. */
  onServices: boolean;
  selected: Transfer;
  onSelect: (row: Transfer) => void;
}

export function keyOfTransfer(row: Transfer): string {
  return String(row.rank);
}

export function TransferTable({ rows, onServices, selected, onSelect }: TransferTableProps) {
  const columns = useMemo<DataColumn<Transfer>[]>(() => {
    const most = Math.max(1, ...rows.map((row) => row.wasted_bytes_per_second));
    return [
      { key: 'rank', title: '#', width: 44, align: 'right', value: (row) => row.rank },
      {
        key: 'class',
        title: 'Class',
        width: 150,
        value: (row) => row.class,
        cell: (row) => <span title={row.class}>{shortClass(row.class)}</span>,
      },
      {
        key: 'endpoint',
        title: 'Endpoint',
        grow: 3,
        value: (row) => row.endpoint,
        cell: (row) => (
          <span title={`${row.endpoint} (${row.by})`}>
            {row.endpoint || <span className="muted">not known</span>}
          </span>
        ),
      },
      {
        key: 'place',
        title: 'Asked for in',
        grow: 3,
        value: (row) => row.call_path.join(' › '),
        cell: (row) => <span title={row.call_path.join(' › ')}>{shortPlace(row.call_path[0] ?? '')}</span>,
      },
      {
        key: 'wasted',
        title: 'In vain, /s',
        width: 104,
        align: 'right',
        value: (row) => row.wasted_bytes_per_second,
        cell: (row) => (
          <BarCell share={row.wasted_bytes_per_second / most}>
            {wordBytes(Math.round(row.wasted_bytes_per_second))}
          </BarCell>
        ),
      },
      {
        key: 'responses',
        title: 'Responses, /s',
        width: 104,
        align: 'right',
        value: (row) => row.responses_per_second,
        cell: (row) => wordRate(row.responses_per_second),
      },
      {
        key: 'used',
        title: 'Fields used',
        width: 92,
        align: 'right',
        value: (row) => row.utilisation ?? -1,
        cell: (row) => (row.utilisation === null ? '' : wordShare(row.utilisation)),
      },
      ...(onServices ? [pathColumn()] : []),
    ];
  }, [rows, onServices]);
  return (
    <DataTable
      name="Transfers"
      rows={rows}
      columns={columns}
      keyOf={keyOfTransfer}
      firstOrder={{ column: 'rank', direction: 'asc' }}
      selected={keyOfTransfer(selected)}
      onSelect={onSelect}
      saveAs="transfers"
      heading={
        <h2>{onServices ? 'By path of services, then by bytes in vain' : 'By bytes received in vain'}</h2>
      }
    />
  );
}

function pathColumn(): DataColumn<Transfer> {
  return {
    key: 'path',
    title: 'Path of services',
    grow: 2,
    value: (row) => row.paths[0]?.path.join(' › ') ?? '',
    cell: (row) => {
      const [first] = row.paths;
      if (!first) return <span className="muted">none</span>;
      const more = row.paths.length > 1 ? ` and ${wordCount(row.paths.length - 1)} more` : '';
      return (
        <span title={row.paths.map((path) => `${path.rank}: ${path.path.join(' › ')}`).join('\n')}>
          #{first.rank}, {wordShare(first.share)} of the time{more}
        </span>
      );
    },
  };
}

/** "shop.Planner.one(Planner.java:58)" as "Planner.one:58". */
function shortPlace(place: string): string {
  const match = /^(?:.*\.)?([^.(]+\.[^.(]+)(?:\([^:)]*(:\d+)?\))?$/.exec(place);
  return match ? `${match[1]}${match[2] ?? ''}` : place;
}

function wordRate(rate: number): string {
  return rate >= 99.95 ? wordCount(rate) : rate.toFixed(1);
}
