// The segment of the path at the selected time, in words, with steps to the one before and after: walking
// along the path without a mouse. Read out when it changes.
import { span, type TimeRange } from '../../draw/time-scale';
import type { Path } from '../../model/interface';
import { toRequest } from '../../model/jumps';
import { adjust } from '../../model/place-store';
import { useSharedRange } from '../../model/recording';
import { STATE_WORDS, wordDuration, wordShare } from '../../model/wording';
import { PlaceLink } from '../../parts/place-link';
import { segmentAt } from './path-rows';

interface SegmentStripProps {
  path: Path;
  at: number | null;
  /** A wait of which the segment is the first piece. */
  mark?: TimeRange | null;
  of: number;
}

export function SegmentStrip({ path, at, mark = null, of }: SegmentStripProps) {
  const { bounds } = useSharedRange();
  const segment = at === null ? null : segmentAt(path, at);
  const index = segment ? path.segments.indexOf(segment) : -1;
  const step = (next: number) => {
    const target = path.segments[next];
    if (target) adjust({ at: target.begin_ns });
  };
  return (
    <div className="segment-strip">
      <button
        type="button"
        className="quiet-button"
        aria-label="Segment before"
        disabled={index <= 0}
        onClick={() => step(index - 1)}
      >
        ◀
      </button>
      <button
        type="button"
        className="quiet-button"
        aria-label="Segment after"
        disabled={path.segments.length === 0 || index >= path.segments.length - 1}
        onClick={() => step(index + 1)}
      >
        ▶
      </button>
      <span aria-live="polite" className="segment-words">
        {segment ? (
          <>
            {mark && mark.end > segment.end_ns && (
              <>
                <strong>{wordDuration(span(mark))}</strong>{' '}
                <span className="muted">
                  ({wordShare(span(mark) / Math.max(1, of))}) pointed out, first
                </span>{' '}
              </>
            )}
            <span className={`swatch state-${segment.state}`} />
            <strong>{STATE_WORDS[segment.state].title}</strong> for{' '}
            {wordDuration(segment.end_ns - segment.begin_ns)}{' '}
            <span className="muted">
              ({wordShare((segment.end_ns - segment.begin_ns) / Math.max(1, of))}) in{' '}
              {segment.comm || 'thread'} ({segment.tid}){segment.detail ? `: ${segment.detail}` : ''}
            </span>{' '}
            {segment.blocked_by !== null && (
              <PlaceLink
                to={toRequest(
                  { id: segment.blocked_by, begin_ns: segment.begin_ns, end_ns: segment.end_ns },
                  bounds,
                )}
              >
                request {segment.blocked_by}
              </PlaceLink>
            )}
          </>
        ) : (
          <span className="muted">Click the time line, or step through the path</span>
        )}
      </span>
    </div>
  );
}
