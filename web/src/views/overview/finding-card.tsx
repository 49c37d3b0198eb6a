// One finding: how bad, how much of the slow requests' time it touches, what it is, what shows it (with
// links to the place), and what to do.
import { useEffect, useRef } from 'react';
import type { Finding } from '../../model/interface';
import { toEvidence } from '../../model/jumps';
import { useHostName, useRecording, useSharedRange } from '../../model/recording';
import { wordShare, wordTime } from '../../model/wording';
import { span, withMargin } from '../../draw/time-scale';
import { PlaceLink } from '../../parts/place-link';
import { Prose } from '../../parts/prose';

const SEVERITY_WORDS = { high: 'High', medium: 'Medium', low: 'Low' } as const;

interface FindingCardProps {
  finding: Finding;
  open: boolean;
  /** A link led to it: it is brought into sight. */
  pointedAt: boolean;
}

export function FindingCard({ finding, open, pointedAt }: FindingCardProps) {
  const { hosts } = useRecording();
  const { bounds } = useSharedRange();
  const hostName = useHostName();
  const element = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (pointedAt) element.current?.scrollIntoView({ block: 'nearest' });
  }, [pointedAt]);
  const range = { begin: finding.begin_ns, end: Math.max(finding.end_ns, finding.begin_ns + 1) };
  const partial = span(range) < span(bounds) * 0.98;
  return (
    <li ref={element} className={`finding is-${finding.severity} ${pointedAt ? 'is-pointed-at' : ''}`}>
      <details open={open}>
        <summary>
          <span className={`severity is-${finding.severity}`}>
            {SEVERITY_WORDS[finding.severity] ?? finding.severity}
          </span>
          <span className="finding-title">{finding.title}</span>
          <span
            className="finding-share"
            title={`This touches ${wordShare(finding.share)} of the slow requests' time`}
          >
            <span className="share-bar">
              <span style={{ width: `${Math.min(1, finding.share) * 100}%` }} />
            </span>
            {wordShare(finding.share)}
          </span>
        </summary>
        <div className="finding-body">
          <p>
            <Prose text={finding.explanation} />
          </p>
          {finding.evidence.length > 0 && (
            <ul className="evidence-list" aria-label="Evidence">
              {finding.evidence.map((evidence, index) => {
                const jump = toEvidence(evidence, finding, bounds);
                return (
                  <li key={index}>
                    <Prose text={evidence.text} />{' '}
                    {jump && (
                      <PlaceLink to={jump} className="evidence-jump" optional>
                        {evidence.request !== null && evidence.request !== undefined
                          ? 'Show the request'
                          : 'Show it'}
                      </PlaceLink>
                    )}
                    {evidence.hint !== undefined && (
                      <p className="muted">
                        Hint: <Prose text={evidence.hint} />
                      </p>
                    )}
                  </li>
                );
              })}
            </ul>
          )}
          {finding.advice && (
            <p className="advice">
              <strong>What to do:</strong> <Prose text={finding.advice} />
            </p>
          )}
          <p className="muted finding-foot">
            <span className="mono">{finding.id}</span>
            {hosts.length > 1 && <span>on {hostName(finding.host)}</span>}
            {partial && (
              <PlaceLink
                to={{ view: 'threads', range: withMargin(range, 0.05, bounds), at: finding.begin_ns }}
              >
                from {wordTime(range.begin, span(range) / 100)} to {wordTime(range.end, span(range) / 100)}
              </PlaceLink>
            )}
          </p>
        </div>
      </details>
    </li>
  );
}
