// What somebody chose in the view, which its parts share and the address keeps.
// How an address is written: model/place.ts.
import { adjust } from '../../model/place-store';

/** The selected configuration. */
export interface Choice {
  /** Its place in the results' configurations. */
  place: number;
  /** Whether somebody selected it. */
  isChosen: boolean;
  choose: (place: number) => void;
}

/** The view is named, too: where it is the only one, the address may not say so. */
export function keepInAddress(filters: Record<string, string | null>): void {
  adjust({ view: 'exploration', filters });
}
