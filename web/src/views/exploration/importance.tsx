// What the first objective depends on: a bar for each parameter, and one for what parameters do only together or none
// explains. Shares and how they were computed are the server's.
import { sentencesOfMethod } from '../../model/exploration-words';
import type { ExplorationResults } from '../../model/interface';
import { EmptyNotice } from '../../parts/notices';

export function Importance({ results }: { results: ExplorationResults }) {
  const { importance, objectives } = results;
  return (
    <section className="panel" aria-label="Importance of parameters">
      <div className="panel-head">
        <h2>What {objectives[0]?.metric} depends on</h2>
      </div>
      {importance === null ? (
        <EmptyNotice title="Not known yet">
          It takes three configurations with results, and not all of them the same.
        </EmptyNotice>
      ) : (
        <div className="panel-body">
          <dl className="importance">
            {importance.parameters.map(([name, share]) => (
              <Bar key={name} name={name} share={share} />
            ))}
            {importance.together !== null && <Bar name="together only" share={importance.together} isRest />}
            {importance.not_explained !== null && (
              <Bar name="not explained" share={importance.not_explained} isRest />
            )}
          </dl>
          <p className="muted">{sentencesOfMethod(importance)}</p>
        </div>
      )}
    </section>
  );
}

function Bar({ name, share, isRest = false }: { name: string; share: number | null; isRest?: boolean }) {
  return (
    <div>
      <dt className={isRest ? 'muted' : ''}>{name}</dt>
      <dd>
        <span className="importance-track" aria-hidden="true">
          <span className={isRest ? 'is-rest' : ''} style={{ width: `${100 * (share ?? 0)}%` }} />
        </span>
        <span
          className="importance-share"
          title={share === null ? 'No second value of it has a result' : undefined}
        >
          {share === null ? 'unknown' : `${Math.round(100 * share)} %`}
        </span>
      </dd>
    </div>
  );
}
