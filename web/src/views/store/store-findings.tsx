// What stands out of what servers did: each finding with what it rests on, the steps of threads, what to do, and a
// link to when it was worst.
import type { StoreFinding, StoreTables } from '../../model/interface';
import { useSharedRange } from '../../model/recording';
import { withMargin } from '../../draw/time-scale';
import { PlaceLink } from '../../parts/place-link';
import { nameOfServer } from './server-names';

export function StoreFindings({ told }: { told: StoreTables }) {
  return (
    <section className="panel store-findings" aria-label="What stands out">
      <ul className="finding-list">
        {told.findings.map((finding, index) => (
          <li key={index} className="finding">
            <FoundInStore finding={finding} told={told} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function FoundInStore({ finding, told }: { finding: StoreFinding; told: StoreTables }) {
  const { bounds } = useSharedRange();
  const { title, evidence, steps, advice, begin_ns: begin, end_ns: end } = finding;
  return (
    <div className="finding-body">
      <p>
        {told.servers.length > 1 && <span className="muted">{nameOfServer(finding)}: </span>}
        <strong>{title}</strong>{' '}
        {begin !== null && end !== null && (
          <PlaceLink
            to={{ range: withMargin({ begin, end: Math.max(end, begin + 1) }, 0.5, bounds), at: begin }}
          >
            Show it
          </PlaceLink>
        )}
      </p>
      {evidence.map((line, index) => (
        <p key={index}>{line}</p>
      ))}
      {steps.length > 0 && <pre className="store-steps">{steps.join('\n')}</pre>}
      {advice && (
        <p className="advice">
          <strong>What to do:</strong> {advice}
        </p>
      )}
    </div>
  );
}
