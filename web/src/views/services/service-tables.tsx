// What the map of services shows, as tables: services, and the calls between them, with all their numbers.
// Each can be sorted and saved.
import type { Served, ServiceCall, ServiceMap, ServiceOfMap } from '../../model/interface';
import { addressOf } from '../../model/place-store';
import { wordCount, wordDuration, wordShare } from '../../model/wording';
import { BarCell, DataTable, type DataColumn } from '../../parts/data-table/data-table';

/** The columns that services and calls share; the one time that tells most beside the 99th percentile differs. */
function servedColumns<R extends Served>(middle: 'mean' | 'p50'): DataColumn<R>[] {
  const time = (key: 'mean' | 'p50' | 'p99', title: string): DataColumn<R> => ({
    key,
    title,
    width: 82,
    align: 'right',
    value: (row) => row[key],
    cell: (row) => wordDuration(row[key]),
  });
  return [
    {
      key: 'count',
      title: 'Calls',
      width: 76,
      align: 'right',
      value: (row) => row.count,
      cell: (row) => wordCount(row.count),
    },
    {
      key: 'errors',
      title: 'Failed',
      width: 66,
      align: 'right',
      value: (row) => row.errors,
      cell: (row) => (row.errors ? wordCount(row.errors) : ''),
    },
    time(middle, middle === 'mean' ? 'Mean' : 'p50'),
    time('p99', 'p99'),
    {
      key: 'critical',
      title: 'Critical',
      width: 104,
      align: 'right',
      value: (row) => row.critical_share,
      cell: (row) => <BarCell share={row.critical_share}>{wordShare(row.critical_share)}</BarCell>,
    },
  ];
}

const SERVICES: DataColumn<ServiceOfMap>[] = [
  {
    key: 'service',
    title: 'Service',
    grow: 1,
    value: (row) => row.service,
    cell: (row) => (
      <a
        href={addressOf({ view: 'requests', request: null, filters: { service: row.service } })}
        title="Show its requests"
      >
        {row.service}
      </a>
    ),
  },
  ...servedColumns<ServiceOfMap>('mean'),
];

const CALLS: DataColumn<ServiceCall>[] = [
  { key: 'caller', title: 'Caller', grow: 1, value: (row) => row.caller },
  { key: 'callee', title: 'Called', grow: 1, value: (row) => row.callee },
  ...servedColumns<ServiceCall>('p50'),
];

const BY_CRITICAL = { column: 'critical', direction: 'desc' } as const;

export function ServiceTables({ map }: { map: ServiceMap }) {
  return (
    <div className="two-tables is-even">
      <DataTable
        name="Services"
        rows={map.services}
        columns={SERVICES}
        keyOf={(row) => row.service}
        firstOrder={BY_CRITICAL}
        saveAs="services"
        heading={<h2>Services</h2>}
      />
      <DataTable
        name="Calls between services"
        rows={map.calls}
        columns={CALLS}
        keyOf={(row) => `${row.caller} ${row.callee}`}
        firstOrder={BY_CRITICAL}
        saveAs="service-calls"
        heading={<h2>Who calls whom</h2>}
        empty="No service calls another"
      />
    </div>
  );
}
