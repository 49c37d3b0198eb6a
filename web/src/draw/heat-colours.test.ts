// Colours of numbers are in order, far apart, and can have text on them.
import { expect, test } from 'vitest';
import { PANEL_COLOURS, contrast } from './colours';
import { heatColour, lineColour, shareOf, textOnHeat } from './heat-colours';

const SHARES = Array.from({ length: 41 }, (_, index) => index / 40);

test('more is darker on light pages, and brighter on dark ones', () => {
  for (const [theme, from] of [
    ['light', 0xffffff],
    ['dark', 0x000000],
  ] as const) {
    const away = SHARES.map((share) => contrast(heatColour(theme, share), from));
    expect(away.every((one, index) => index === 0 || one > away[index - 1]!)).toBe(true);
    expect(away.at(-1)! / away[0]!).toBeGreaterThan(6);
  }
});

test('text on every colour can be read', () => {
  for (const share of SHARES) {
    const colour = heatColour('light', share);
    expect(contrast(colour, textOnHeat(colour)), `${share}`).toBeGreaterThanOrEqual(4.5);
  }
});

test('lines stand out from the panel', () => {
  for (const theme of ['light', 'dark'] as const) {
    for (const share of SHARES) {
      const colour = lineColour(theme, share);
      expect(contrast(colour, PANEL_COLOURS[theme]), `${share}, ${theme}`).toBeGreaterThanOrEqual(2);
    }
  }
});

test('shares', () => {
  expect([shareOf(2, 1, 3), shareOf(5, 5, 5), shareOf(3, 1, 3)]).toEqual([0.5, 0.5, 1]);
});
