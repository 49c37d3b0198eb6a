// What the overview shows of a recording without requests: the threads that ran most, and how they spent
// the recording. With links into the time line.
import { useAnswer } from '../../model/answers';
import type { Thread, Threads } from '../../model/interface';
import { useHasKernel, useHostName, useRecording } from '../../model/recording';
import { wordDuration } from '../../model/wording';
import { STATE_NAMES } from '../../model/interface';
import { Answered, NoKernel } from '../../parts/notices';
import { PlaceLink } from '../../parts/place-link';
import { StateBar, StateLegend } from '../../parts/state-bar';

const MOST = 20;

export function BusiestThreads() {
  const kernel = useHasKernel();
  const answer = useAnswer<Threads>(kernel ? { path: '/api/threads' } : null);
  return (
    <section className="panel" aria-label="Busiest threads">
      <div className="panel-head">
        <h2>Busiest threads</h2>
        {kernel && (
          <PlaceLink to={{ view: 'threads', thread: null, filters: {} }} optional>
            All threads and processors
          </PlaceLink>
        )}
      </div>
      {kernel ? (
        <Answered answer={answer}>{(value) => <ThreadList threads={value.threads} />}</Answered>
      ) : (
        <NoKernel />
      )}
    </section>
  );
}

function ThreadList({ threads }: { threads: readonly Thread[] }) {
  const { hosts } = useRecording();
  const hostName = useHostName();
  const busiest = [...threads]
    .sort((one, other) => (other.states.RUNNING ?? 0) - (one.states.RUNNING ?? 0))
    .slice(0, MOST);
  return (
    <div className="panel-body">
      <ul className="slowest-list">
        {busiest.map((thread) => (
          <li key={thread.row}>
            <PlaceLink to={{ view: 'threads', thread: thread.row, filters: {} }} className="slowest-link">
              <span className="slowest-name">
                {thread.comm || 'unnamed'} <span className="muted">{thread.tid}</span>
                {hosts.length > 1 && <span className="muted"> on {hostName(thread.host)}</span>}
              </span>
              <StateBar states={thread.states} label="How it spent the recording" />
              <span className="is-right">{wordDuration(thread.states.RUNNING ?? 0)}</span>
            </PlaceLink>
          </li>
        ))}
      </ul>
      <StateLegend
        states={STATE_NAMES.filter((state) => busiest.some((thread) => (thread.states[state] ?? 0) > 0))}
      />
    </div>
  );
}
