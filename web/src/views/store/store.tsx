// The data store from inside: what stands out, how busy each server was and what went through it, its event loop,
// threads and connections over time, and commands, clients and messages in tables.
import { useAnswer } from '../../model/answers';
import type { StoreRow, StoreRowList, StoreTables as Tables } from '../../model/interface';
import { usePlace } from '../../model/place-store';
import { useRecording } from '../../model/recording';
import { Answered, EmptyNotice } from '../../parts/notices';
import { Split } from '../../parts/split';
import { StoreFindings } from './store-findings';
import { OperationsOfThreads } from './operations-of-threads';
import { StoreLines } from './store-lines';
import { StoreTables } from './store-tables';
import { StoreToolBar } from './store-tool-bar';
import { partShown, type PartName } from './parts';

const NO_ROWS: readonly StoreRow[] = [];

export function Store() {
  return useRecording().has_stores ? <StoreFromInside /> : <NoStore />;
}

function StoreFromInside() {
  const tables = useAnswer<Tables>({ path: '/api/store' });
  const rows = useAnswer<StoreRowList>({ path: '/api/store/rows' });
  const { filters } = usePlace();
  const list = rows.value?.rows ?? NO_ROWS;
  return (
    <Answered answer={tables}>
      {(told) => (
        <div className="view-column">
          <StoreToolBar told={told} rows={list} />
          <div className="view-rest">
            <Split
              name="Border between the time lines and the tables"
              firstShare={0.55}
              upper={<Answered answer={rows}>{(list) => <StoreLines list={list} told={told} />}</Answered>}
              lower={<StorePart told={told} rows={list} shown={partShown(filters.show, told, list)} />}
            />
          </div>
        </div>
      )}
    </Answered>
  );
}

interface PartProps {
  told: Tables;
  rows: readonly StoreRow[];
  shown: PartName;
}

function StorePart({ told, rows, shown }: PartProps) {
  switch (shown) {
    case 'findings':
      return <StoreFindings told={told} />;
    case 'operations':
      return <OperationsOfThreads told={told} rows={rows} />;
    default:
      return <StoreTables told={told} shown={shown} />;
  }
}

function NoStore() {
  return (
    <EmptyNotice title="No data store was recorded from inside">
      <code>slowpath record --redis PID</code> records a Redis server, without restarting it.
    </EmptyNotice>
  );
}
