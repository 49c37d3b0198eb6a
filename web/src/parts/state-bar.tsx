// Time by state as one bar and, where wanted, as a table: the textual form of every breakdown. The largest
// state comes first, so that the bar's left end is the answer.
import { STATE_NAMES, type StateName, type TimeByState } from '../model/interface';
import { STATE_WORDS, wordDuration, wordShare } from '../model/wording';

export function statesBySize(states: TimeByState): [StateName, number][] {
  return STATE_NAMES.map((state): [StateName, number] => [state, states[state] ?? 0])
    .filter(([, time]) => time > 0)
    .sort((one, other) => other[1] - one[1]);
}

function totalOf(states: TimeByState): number {
  return statesBySize(states).reduce((sum, [, time]) => sum + time, 0);
}

interface StateBarProps {
  states: TimeByState;
  /** Of which the bar is a share; by default it fills the width. */
  of?: number;
  label?: string;
}

export function StateBar({ states, of, label }: StateBarProps) {
  const total = totalOf(states);
  const whole = Math.max(of ?? total, 1);
  const parts = statesBySize(states);
  const words = parts
    .map(([state, time]) => `${STATE_WORDS[state].title} ${wordShare(time / Math.max(total, 1))}`)
    .join(', ');
  return (
    <div className="state-bar" role="img" aria-label={`${label ? `${label}: ` : ''}${words}`} title={words}>
      {parts.map(([state, time]) => (
        <span
          key={state}
          className={`state-fill state-${state}`}
          style={{ width: `${(time / whole) * 100}%` }}
        />
      ))}
    </div>
  );
}

export function StateTable({ states, caption }: { states: TimeByState; caption: string }) {
  const total = Math.max(totalOf(states), 1);
  return (
    <table className="state-table">
      <caption className="visually-hidden">{caption}</caption>
      <tbody>
        {statesBySize(states).map(([state, time]) => (
          <tr key={state} title={STATE_WORDS[state].meaning}>
            <th scope="row">
              <span className={`swatch state-${state}`} />
              {STATE_WORDS[state].title}
            </th>
            <td>{wordDuration(time)}</td>
            <td>{wordShare(time / total)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function StateLegend({ states }: { states: readonly StateName[] }) {
  return (
    <ul className="legend" aria-label="States and their colours">
      {states.map((state) => (
        <li key={state} title={STATE_WORDS[state].meaning}>
          <span className={`swatch state-${state}`} />
          {STATE_WORDS[state].title}
        </li>
      ))}
    </ul>
  );
}

export function StateName({ state }: { state: StateName }) {
  return (
    <span className="state-name" title={STATE_WORDS[state].meaning}>
      <span className={`swatch state-${state}`} />
      {STATE_WORDS[state].title}
    </span>
  );
}
