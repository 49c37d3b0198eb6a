// What is known of the selected configuration: in words how it stands, its metrics, the reasons that are about it, and what
// went wrong or was lost in its trials.
import { sentenceOfStanding, wordAgainst, wordConfiguration, wordMean } from '../../model/exploration-words';
import type { Configuration, Exploration } from '../../model/interface';
import { Facts } from '../../parts/tooltip';
import { Prose } from '../../parts/prose';
import type { Choice } from './choice';

export function ConfigurationDetail({ explored, choice }: { explored: Exploration; choice: Choice }) {
  const { results, reasons, trials, metrics } = explored;
  const row = results.configurations[choice.place];
  if (!row) return null;
  const [first] = results.objectives;
  const best = first && results.configurations[0]?.metrics[first.metric]?.mean;
  const about = reasons.filter((reason) => reason.about.some((one) => isSame(one, row.configuration)));
  const told = trials.filter(({ configuration, words }) => configuration === choice.place && words !== '');
  const against = wordAgainst(row.difference, best);
  return (
    <div className="configuration-detail" role="region" aria-label="The selected configuration">
      <h3 className="mono">{wordConfiguration(row.configuration, results.parameters)}</h3>
      <p>
        {sentenceOfStanding(row, results.confidence)}
        {against !== '' && ` It lies ${against} from the best in ${first?.metric}.`}
      </p>
      <Facts
        facts={metrics.map(({ name, unit }) => {
          const found = row.metrics[name];
          return [name, found ? `${wordMean(found)} ${unit}` : 'no result'];
        })}
      />
      {about.length > 0 && (
        <ul className="reason-list">
          {about.map(({ words }) => (
            <li key={words}>
              <Prose text={words} />
            </li>
          ))}
        </ul>
      )}
      {told.length > 0 && (
        <ul className="reason-list">
          {told.map(({ trial, outcome, words }) => (
            <li key={trial}>
              Trial {trial}: {outcome === 'good' ? '' : `${outcome}: `}
              {words}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function isSame(one: Configuration, other: Configuration): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
}
