// The bar above the threads: which of them are shown, and how.
// All of it lives in the address.
import { adjust, go, usePlace } from '../../model/place-store';
import { SearchField } from '../../parts/search-field';
import type { ThreadFilter } from './thread-rows';

interface ThreadToolBarProps {
  filter: ThreadFilter;
  byRequest: boolean;
  withArrows: boolean;
  withIo: boolean;
  folding: boolean;
  /** Whether any thread is left to be shown. */
  anyShown: boolean;
}

export function ThreadToolBar({
  filter,
  byRequest,
  withArrows,
  withIo,
  folding,
  anyShown,
}: ThreadToolBarProps) {
  const { filters } = usePlace();
  return (
    <div className="tool-bar" role="search">
      <SearchField
        label="Search threads"
        placeholder="Name or number"
        value={filters.text ?? ''}
        onChange={(text) => adjust({ filters: { text } })}
      />
      <label>
        <input
          type="checkbox"
          checked={filter.onlyServing}
          onChange={(event) => go({ filters: { serving: event.target.checked ? 'yes' : null } })}
        />
        only those that serve requests
      </label>
      <label title="Only threads that lived in the shown time">
        <input
          type="checkbox"
          checked={filter.alive !== null}
          onChange={(event) => go({ filters: { alive: event.target.checked ? 'yes' : null } })}
        />
        alive in the shown time
      </label>
      {filter.only && (
        <button type="button" onClick={() => go({ filters: { tids: null } })} title="Show all threads again">
          {filter.only.size} threads of a request ✕
        </button>
      )}
      <span className="muted" role="status">
        {!anyShown && 'no thread is like that'}
      </span>
      <span className="spacer" />
      <span className="choice" role="group" aria-label="Colours of threads">
        <button type="button" aria-pressed={!byRequest} onClick={() => go({ filters: { colour: null } })}>
          States
        </button>
        <button
          type="button"
          aria-pressed={byRequest}
          title="Which request each thread works for"
          onClick={() => go({ filters: { colour: 'requests' } })}
        >
          Requests
        </button>
      </span>
      <button
        type="button"
        aria-pressed={withArrows}
        title="Who woke whom, and when it ran"
        onClick={() => go({ filters: { arrows: withArrows ? 'no' : null } })}
      >
        Wake-ups
      </button>
      <button
        type="button"
        aria-pressed={folding}
        title="Fold the time in which none of the shown threads does anything but wait"
        onClick={() => go({ filters: { fold: folding ? null : 'yes' } })}
      >
        Fold waiting
      </button>
      <button
        type="button"
        aria-pressed={withIo}
        title="Bytes read and written over time"
        onClick={() => go({ filters: { io: withIo ? null : 'yes' } })}
      >
        I/O
      </button>
    </div>
  );
}
