// The data store from inside: what stands out, how busy each server was and what went through it, its event loop,
// threads and connections over time, and commands, clients and messages in tables.
import { useAnswer } from '../../model/answers';
import type { StoreRowList, StoreTables as Tables } from '../../model/interface';
import { usePlace } from '../../model/place-store';
import { useRecording } from '../../model/recording';
import { Answered, EmptyNotice } from '../../parts/notices';
import { Split } from '../../parts/split';
import { StoreFindings } from './store-findings';
import { StoreLines } from './store-lines';
import { StoreTables } from './store-tables';
import { StoreToolBar } from './store-tool-bar';
import { partShown, type PartName } from './parts';

export function Store() {
  return useRecording().has_stores ? <StoreFromInside /> : <NoStore />;
}

function StoreFromInside() {
  const tables = useAnswer<Tables>({ path: '/api/store' });
  const rows = useAnswer<StoreRowList>({ path: '/api/store/rows' });
  const { filters } = usePlace();
  return (
    <Answered answer={tables}>
      {(told) => (
        <div className="view-column">
          <StoreToolBar told={told} />
          <div className="view-rest">
            <Split
              name="Border between the time lines and the tables"
              firstShare={0.55}
              upper={<Answered answer={rows}>{(list) => <StoreLines list={list} told={told} />}</Answered>}
              lower={<StorePart told={told} shown={partShown(filters.show, told)} />}
            />
          </div>
        </div>
      )}
    </Answered>
  );
}

function StorePart({ told, shown }: { told: Tables; shown: PartName }) {
  return shown === 'findings' ? <StoreFindings told={told} /> : <StoreTables told={told} shown={shown} />;
}

function NoStore() {
  return (
    <EmptyNotice title="No data store was recorded from inside">
      <code>slowpath record --redis PID</code> records a Redis server, without restarting it.
    </EmptyNotice>
  );
}
