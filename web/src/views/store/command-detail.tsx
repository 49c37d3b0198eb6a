// The selected one of the slowest commands: what its server's event loop did meanwhile, for it and for others, and what
// the thread waited for below Redis, where the kernel was recorded.
import { useMemo } from 'react';
import { useAnswer } from '../../model/answers';
import { withQuery } from '../../model/client';
import type { StoreCommandPath, StoreCommandRun, StoreDid } from '../../model/interface';
import { go } from '../../model/place-store';
import { useSharedRange } from '../../model/recording';
import { wordCount, wordDuration, wordShare, wordTime } from '../../model/wording';
import { Answered, EmptyNotice } from '../../parts/notices';
import { StateTable } from '../../parts/state-bar';
import { PathGraph } from '../requests/path-graph';
import { nameOfClient, nameOfServer } from './server-names';
import { LOOKS } from './store-meaning';

interface OfHost {
  host?: string;
}

export function CommandDetail({ run }: { run: StoreCommandRun & OfHost }) {
  const { range, bounds, setRange } = useSharedRange();
  const question = useMemo(
    () => ({
      path: withQuery('/api/store/command', {
        ...(run.host === undefined ? {} : { host: run.host }),
        server: run.server,
        client: run.client,
        begin_ns: run.begin_ns,
        end_ns: run.begin_ns + Math.max(1, run.total_ns),
      }),
    }),
    [run],
  );
  const answer = useAnswer<StoreCommandPath>(question);
  return (
    <section className="request-detail" aria-label="The selected command">
      <header className="request-head">
        <div className="request-title">
          <h2>{run.command}</h2>
          <span className="muted">
            {wordDuration(run.total_ns)} from {wordTime(run.begin_ns, 1000)}, {nameOfClient(run)} at{' '}
            {nameOfServer(run)}
          </span>
          <span className="spacer" />
          <button
            type="button"
            className="quiet-button"
            aria-label="Close the command"
            onClick={() => go({ filters: { command: null } })}
          >
            ✕
          </button>
        </div>
      </header>
      <Answered answer={answer}>
        {({ meanwhile, path }) => (
          <div className="request-body">
            <aside className="request-facts" aria-label="Where its time went">
              <h3>What the event loop did meanwhile</h3>
              <Meanwhile did={meanwhile.did} rest={meanwhile.rest_ns} total={run.total_ns} />
              {path && (
                <>
                  <h3>And its thread, by the kernel</h3>
                  <StateTable states={path.states} caption="Time of the critical path by state" />
                </>
              )}
            </aside>
            <div className="request-lines">
              {path ? (
                <PathGraph
                  name={`Critical path of the thread that executed ${run.command}`}
                  path={path}
                  spans={[]}
                  ownSpan={null}
                  saveAs={`command-${run.command}`}
                  range={range}
                  bounds={bounds}
                  whole={{ begin: path.begin_ns, end: path.end_ns }}
                  onRange={setRange}
                />
              ) : (
                <EmptyNotice title="The kernel does not tell what it waited for">
                  It was not recorded, or the server runs in a container that numbers its processes anew.
                </EmptyNotice>
              )}
            </div>
          </div>
        )}
      </Answered>
    </section>
  );
}

/** In the order of time that it took. */
function Meanwhile({ did, rest, total }: { did: readonly StoreDid[]; rest: number; total: number }) {
  const share = (time: number) => wordShare(time / Math.max(1, total));
  return (
    <table className="state-table">
      <caption className="visually-hidden">What the event loop did while the command was under way</caption>
      <tbody>
        {did.map((one) => (
          <tr key={`${one.operation} ${one.command} ${one.own}`}>
            <th scope="row">
              <span className={`swatch state-${LOOKS[one.operation]?.like ?? 'UNKNOWN'}`} />
              {wordsOf(one)}
            </th>
            <td>{wordDuration(one.total_ns)}</td>
            <td>{share(one.total_ns)}</td>
          </tr>
        ))}
        <tr title="It waited for clients, or did what its agent does not tell">
          <th scope="row">
            <span className="swatch state-UNKNOWN" />
            Nothing that is told
          </th>
          <td>{wordDuration(rest)}</td>
          <td>{share(rest)}</td>
        </tr>
      </tbody>
    </table>
  );
}

/** `Executing get of others (12)`. */
export function wordsOf({ operation, command, own, count }: StoreDid): string {
  const what = `${LOOKS[operation]?.title ?? operation} ${command}`.trim();
  return `${what}${own ? ' of its client' : ' of others'}${count > 1 ? ` (${wordCount(count)})` : ''}`;
}
