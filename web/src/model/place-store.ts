// The one store of the application: the present place, mirrored in the address. Zooming replaces the
// address, at most a few times a second (browsers limit it); selecting and changing the view add a step
// to the history, so that "back" undoes them.
import { useSyncExternalStore } from 'react';
import { changePlace, formatPlace, parsePlace, type Place, type PlaceChange } from './place';

let present: Place = placeOfAddress();
const listeners = new Set<() => void>();
let pendingWrite: number | null = null;
const WRITE_PAUSE = 250;
const QUICK = 400;
let latestStep = 0;

window.addEventListener('hashchange', readAddress);
window.addEventListener('popstate', readAddress);

export function usePlace(): Place {
  return useSyncExternalStore(listen, () => present);
}

/** Goes somewhere: a step that "back" undoes. */
export function go(change: PlaceChange): void {
  const next = changePlace(present, change);
  if (formatPlace(next) === formatPlace(present)) return;
  flush();
  present = next;
  // Walking along a list with the arrow keys is one step, not one per row.
  const quick = change.view === undefined && Date.now() - latestStep < QUICK;
  latestStep = Date.now();
  if (quick) window.history.replaceState(null, '', formatPlace(present));
  else window.history.pushState(null, '', formatPlace(present));
  tell();
}

/** Adjusts where we are (zoom, pan, cursor): no step of its own in the history. */
export function adjust(change: PlaceChange): void {
  present = changePlace(present, change);
  if (pendingWrite === null) pendingWrite = window.setTimeout(flush, WRITE_PAUSE);
  tell();
}

/** The address of a place reached by a change from here: what links point to. */
export function addressOf(change: PlaceChange): string {
  return formatPlace(changePlace(present, change));
}

function flush(): void {
  if (pendingWrite === null) return;
  window.clearTimeout(pendingWrite);
  pendingWrite = null;
  window.history.replaceState(null, '', formatPlace(present));
}

function readAddress(): void {
  const read = placeOfAddress();
  if (formatPlace(read) === formatPlace(present)) return;
  if (pendingWrite !== null) {
    window.clearTimeout(pendingWrite);
    pendingWrite = null;
  }
  present = read;
  tell();
}

/** What of the address makes no sense does not stay in it. */
function placeOfAddress(): Place {
  const place = parsePlace(window.location.hash);
  const right = formatPlace(place);
  const { hash } = window.location;
  if (hash !== '' && hash !== right) window.history.replaceState(null, '', right);
  return place;
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  for (const listener of listeners) listener();
}
