// The colours of numbers: one scale for both themes, even to the eye and safe for those who do not see all colours
// (viridis, by van der Walt and Smith, in nine steps). What is large is dark on a light page and bright on a dark one,
// so that it stands out.
import { blend, contrast, type Colour, type ThemeName } from './colours';

const STEPS: readonly Colour[] = [
  0xfde725, 0xaddc30, 0x5ec962, 0x28ae80, 0x21918c, 0x2c728e, 0x3b528b, 0x472d7b, 0x440154,
];

const FAINTEST = 0.3;

/** `share` from 0 (the smallest number) to 1 (the largest). */
export function heatColour(theme: ThemeName, share: number): Colour {
  const kept = Math.min(1, Math.max(0, share));
  const place = (theme === 'light' ? kept : 1 - kept) * (STEPS.length - 1);
  const below = Math.min(STEPS.length - 2, Math.floor(place));
  return blend(STEPS[below]!, STEPS[below + 1]!, place - below);
}

/** Where a number lies between the least and the most; in the middle where these are the same. */
export function shareOf(value: number, least: number, most: number): number {
  return most > least ? (value - least) / (most - least) : 0.5;
}

/** The same for thin lines and dots, which would not be seen where the scale comes near the page's colour. */
export function lineColour(theme: ThemeName, share: number): Colour {
  return heatColour(theme, FAINTEST + (1 - FAINTEST) * share);
}

/** Of text on such a colour: black or white, as anything less reads badly in the middle of the scale. */
export function textOnHeat(colour: Colour): Colour {
  return contrast(colour, 0xffffff) >= contrast(colour, 0x000000) ? 0xffffff : 0x000000;
}
