// What the keys and the mouse do, and what the colours mean, in one dialog. The browser's own dialog
// element, which keeps the focus and closes on Escape.
import { useEffect, useRef } from 'react';
import { STATE_NAMES } from '../model/interface';
import { STATE_WORDS } from '../model/wording';

const KEYS: readonly [string, string][] = [
  ['W  S', 'zoom in and out'],
  ['A  D  ←  →', 'earlier and later'],
  ['0', 'all of the recording'],
  ['↑  ↓', 'select another row'],
  ['Enter', 'open the selected span'],
  ['Space', 'mark the selected request for comparison'],
  ['Drag', 'earlier and later; on the axis or with Shift: zoom into the stretch'],
  ['Wheel', 'rows; with Ctrl, on the axis or where there is nothing to scroll: zoom; with Shift: time'],
  ['Click', 'select a row and a time'],
  ['Double-click', 'zoom onto the state; on the axis: all'],
];

export function HelpDialog({ onClose }: { onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!element.current?.open) element.current?.showModal();
  }, []);
  return (
    <dialog ref={element} className="help-dialog" aria-label="Help" onClose={onClose}>
      <div className="help-columns">
        <section>
          <h2>Keys and mouse</h2>
          <dl className="key-list">
            {KEYS.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
        <section>
          <h2>States</h2>
          <dl className="key-list">
            {STATE_NAMES.map((state) => (
              <div key={state}>
                <dt>
                  <span className={`swatch state-${state}`} /> {STATE_WORDS[state].title}
                </dt>
                <dd>{STATE_WORDS[state].meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
      <p className="muted">
        A tall bar is work, a middle one a wait for a processor or for another request, a low one another
        wait. A pale pixel holds the state for a part of its time. The address of the page restores what it
        shows: copy it to share it.
      </p>
      <button type="button" onClick={() => element.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
