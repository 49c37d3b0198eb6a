// What of the store's view is shown below the time lines, how connections are coloured, and how much was lost.
// All of it lives in the address.
import type { StoreRow, StoreTables } from '../../model/interface';
import { adjust, go, usePlace } from '../../model/place-store';
import { wordCount } from '../../model/wording';
import { PART_TITLES, partShown, partsToShow } from './parts';

export function StoreToolBar({ told, rows }: { told: StoreTables; rows: readonly StoreRow[] }) {
  const { filters } = usePlace();
  const shown = partShown(filters.show, told, rows);
  const byCommand = filters.colour === 'commands';
  const withArrows = filters.arrows !== 'no';
  return (
    <div className="tool-bar">
      <span className="choice" role="group" aria-label="What is shown below the time lines">
        {partsToShow(told, rows).map((name) => (
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
      <button
        type="button"
        aria-pressed={withArrows}
        title="The way of commands: from connections to the threads that read, execute and write, and back"
        onClick={() => adjust({ filters: { arrows: withArrows ? 'no' : null } })}
      >
        Arrows
      </button>
      <span className="spacer" />
      {told.lost > 0 && (
        <span className="muted" title="What they told is missing">
          {wordCount(told.lost)} events were lost
        </span>
      )}
    </div>
  );
}
