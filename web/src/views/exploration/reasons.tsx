// Why configurations differ, as recordings told, and what the policy concludes: the server's sentences, as they are.
// Those about the selected configuration stand with it, too (configuration-detail.tsx).
import type { Exploration } from '../../model/interface';
import { EmptyNotice } from '../../parts/notices';
import { Prose } from '../../parts/prose';

export function Reasons({ explored }: { explored: Exploration }) {
  const { reasons, conclusions, progress } = explored;
  const isEmpty = reasons.length === 0 && conclusions.length === 0;
  return (
    <section className="panel" aria-label="Why configurations differ">
      <div className="panel-head">
        <h2>Why</h2>
      </div>
      {isEmpty ? (
        <EmptyNotice title={progress.state === 'ended' ? 'No reasons were looked for' : 'Not known yet'}>
          At its end, <code>slowpath explore</code> records the best configuration and worse ones, and says
          what makes the difference.
        </EmptyNotice>
      ) : (
        <div className="panel-body">
          <ul className="reason-list">
            {reasons.map(({ words }) => (
              <li key={words}>
                <Prose text={words} />
              </li>
            ))}
          </ul>
          {conclusions.length > 0 && (
            <>
              <h3>What the policy concludes</h3>
              <ul className="reason-list">
                {conclusions.map((words) => (
                  <li key={words}>{words}</li>
                ))}
              </ul>
            </>
          )}
        </div>
      )}
    </section>
  );
}
