// What of the store's view is shown below the time lines, how connections are coloured, and how much was lost.
// All of it lives in the address.
import type { StoreTables } from '../../model/interface';
import { adjust, go, usePlace } from '../../model/place-store';
import { wordCount } from '../../model/wording';
import { PART_TITLES, partShown, partsToShow } from './parts';

export function StoreToolBar({ told }: { told: StoreTables }) {
  const { filters } = usePlace();
  const shown = partShown(filters.show, told);
  const byCommand = filters.colour === 'commands';
  return (
    <div className="tool-bar">
      <span className="choice" role="group" aria-label="What is shown below the time lines">
        {partsToShow(told).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={name === shown}
            onClick={() => go({ filters: { show: name } })}
          >
            {PART_TITLES[name]}
          </button>
        ))}
      </span>
      <span className="choice" role="group" aria-label="Colours of connections">
        {(['operations', 'commands'] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={byCommand === (name === 'commands')}
            onClick={() => adjust({ filters: { colour: name === 'commands' ? name : null } })}
          >
            {name === 'commands' ? 'By command' : 'By operation'}
          </button>
        ))}
      </span>
      <span className="spacer" />
      {told.lost > 0 && (
        <span className="muted" title="What they told is missing">
          {wordCount(told.lost)} events were lost
        </span>
      )}
    </div>
  );
}
