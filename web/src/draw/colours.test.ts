// Colours can be told from the surface that they are drawn on, in both themes (WCAG 2: 3 for graphics).
import { expect, test } from 'vitest';
import { PANEL_COLOURS, blend, contrast, identityColour, stateColours, textColourOn } from './colours';

const THEMES = ['light', 'dark'] as const;

test('every state stands out from the panel', () => {
  for (const theme of THEMES) {
    for (const [state, colour] of stateColours(theme)) {
      expect(contrast(colour, PANEL_COLOURS[theme]), `${state}, ${theme}`).toBeGreaterThanOrEqual(3);
    }
  }
});

test('text on every state can be read', () => {
  for (const theme of THEMES) {
    for (const [state, colour] of stateColours(theme)) {
      expect(contrast(colour, textColourOn(colour)), `${state}, ${theme}`).toBeGreaterThanOrEqual(4.4);
    }
  }
});

test('no two states share a colour', () => {
  for (const theme of THEMES) {
    const colours = stateColours(theme).map(([, colour]) => colour);
    expect(new Set(colours).size).toBe(colours.length);
  }
});

test('identities keep their colour, and differ from their neighbours', () => {
  expect(identityColour('light', 4711)).toBe(identityColour('light', 4711));
  expect(identityColour('light', 1)).not.toBe(identityColour('light', 2));
});

test('blending', () => {
  expect(blend(0x000000, 0xffffff, 1)).toBe(0xffffff);
  expect(blend(0x102030, 0xffffff, 0)).toBe(0x102030);
  expect(contrast(0x000000, 0xffffff)).toBeCloseTo(21);
});
