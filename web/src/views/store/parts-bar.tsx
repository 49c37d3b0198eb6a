// Where the time of commands went, as one bar: read, queued, executed, waited, written, in this order. In words
// for those who point at it or have it read out.
import type { StateName } from '../../model/interface';
import { wordDuration, wordShare } from '../../model/wording';

interface Parts {
  reading_ns: number;
  queueing_ns: number;
  executing_ns: number;
  waiting_ns: number;
  writing_ns: number;
}

/** Each with the state whose colour it has. */
const PARTS: readonly [keyof Parts, string, StateName][] = [
  ['reading_ns', 'read', 'TIMER'],
  ['queueing_ns', 'queued', 'WAIT_CPU'],
  ['executing_ns', 'executed', 'RUNNING'],
  ['waiting_ns', 'reply waited', 'BLOCKED'],
  ['writing_ns', 'written', 'NETWORK'],
];

export function PartsBar({ parts }: { parts: Parts }) {
  const total = Math.max(
    1,
    PARTS.reduce((sum, [key]) => sum + parts[key], 0),
  );
  const words = PARTS.filter(([key]) => parts[key] > 0)
    .map(([key, title]) => `${title} ${wordDuration(parts[key])} (${wordShare(parts[key] / total)})`)
    .join(', ');
  return (
    <div className="state-bar" role="img" aria-label={words} title={words}>
      {PARTS.map(([key, , like]) => (
        <span
          key={key}
          className={`state-fill state-${like}`}
          style={{ width: `${(parts[key] / total) * 100}%` }}
        />
      ))}
    </div>
  );
}
