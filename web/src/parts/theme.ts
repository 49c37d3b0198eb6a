// Light or dark: what the system prefers, unless the user chose (kept in the browser). Sets the attribute
// that the style sheets look at, and gives them the state colours, whose only list is draw/colours.ts.
import { useSyncExternalStore } from 'react';
import { cssColour, stateColours, type ThemeName } from '../draw/colours';

export type ThemeChoice = ThemeName | 'system';

const STORED_AS = 'slowpath-theme';
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
let choice: ThemeChoice = storedChoice();
let present: ThemeName = 'light';

dark.addEventListener('change', apply);
apply();

export function useTheme(): ThemeName {
  return useSyncExternalStore(listen, () => present);
}

export function useThemeChoice(): ThemeChoice {
  return useSyncExternalStore(listen, () => choice);
}

export function chooseTheme(next: ThemeChoice): void {
  choice = next;
  try {
    window.localStorage.setItem(STORED_AS, next);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
  apply();
}

function storedChoice(): ThemeChoice {
  try {
    const stored = window.localStorage.getItem(STORED_AS);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

function apply(): void {
  present = choice === 'system' ? (dark.matches ? 'dark' : 'light') : choice;
  const root = document.documentElement;
  root.dataset.theme = present;
  for (const [state, colour] of stateColours(present)) {
    root.style.setProperty(`--state-${state}`, cssColour(colour));
  }
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A colour of the style sheets, for canvases. */
export function styleColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
