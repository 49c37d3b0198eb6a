// What a segment of a critical path is, in words: for tooltips.
// The strip above the time line says the same of the selected one.
import type { PathSegment } from '../../model/interface';
import { STATE_WORDS, wordDuration, wordShare, wordTime } from '../../model/wording';
import { useRecording } from '../../model/recording';
import { Facts } from '../../parts/tooltip';

interface SegmentTipProps {
  segment: PathSegment;
  of: number;
  hostName: (host: number) => string;
}

export function SegmentTip({ segment, of, hostName }: SegmentTipProps) {
  const { hosts } = useRecording();
  const length = segment.end_ns - segment.begin_ns;
  const facts: [string, React.ReactNode][] = [
    ['For', `${wordDuration(length)} (${wordShare(length / Math.max(1, of))} of the request)`],
    ['Thread', `${segment.comm || 'unnamed'} (${segment.tid})`],
  ];
  if (hosts.length > 1) facts.push(['Host', hostName(segment.host)]);
  if (segment.detail) facts.push(['Detail', segment.detail]);
  if (segment.blocked_by !== null) facts.push(['Held up by', `request ${segment.blocked_by}`]);
  facts.push(['From', wordTime(segment.begin_ns, Math.max(1, length / 100))]);
  return (
    <>
      <p className="tooltip-title">
        <span className={`swatch state-${segment.state}`} />
        {STATE_WORDS[segment.state].title}
      </p>
      <Facts facts={facts} />
    </>
  );
}
