// The colours of states, threads and requests in both themes, as numbers for pixels and as text for
// styles; and the contrast arithmetic that tests hold them to. The one list of state colours: styles get
// theirs from here (theme.ts).
import { STATE_NAMES, type StateName } from '../model/interface';

export type ThemeName = 'light' | 'dark';
/** 0xRRGGBB */
export type Colour = number;

const STATE_COLOURS: Record<ThemeName, Record<StateName, Colour>> = {
  light: {
    RUNNING: 0x2f9461,
    PREEMPTED: 0xde7018,
    WAIT_CPU: 0xb88a10,
    INTERRUPTED: 0x0e8a93,
    BLOCKED: 0x6d7cc4,
    TIMER: 0x3f91c9,
    BLOCK_DEVICE: 0xc73f36,
    NETWORK: 0xc64f9e,
    USER_INPUT: 0x8d6548,
    IPI: 0x75842a,
    UNKNOWN: 0x8b929c,
    BLOCKED_BY_REQUEST: 0x7b45bd,
  },
  dark: {
    RUNNING: 0x4cb985,
    PREEMPTED: 0xf08c3e,
    WAIT_CPU: 0xdcb33f,
    INTERRUPTED: 0x38b6bd,
    BLOCKED: 0x7f8dd6,
    TIMER: 0x62aee0,
    BLOCK_DEVICE: 0xe8685c,
    NETWORK: 0xe07fc0,
    USER_INPUT: 0xb58b6a,
    IPI: 0xa3b14f,
    UNKNOWN: 0x7e8793,
    BLOCKED_BY_REQUEST: 0xb083ea,
  },
};

export const PANEL_COLOURS: Record<ThemeName, Colour> = { light: 0xffffff, dark: 0x191d23 };

export function stateColour(theme: ThemeName, state: StateName): Colour {
  return STATE_COLOURS[theme][state];
}

export function stateColours(theme: ThemeName): [StateName, Colour][] {
  return STATE_NAMES.map((state) => [state, STATE_COLOURS[theme][state]]);
}

/** How tall a state is drawn, so that it can be told apart without colour: work is full, waits are low. */
export function stateWeight(state: StateName): number {
  switch (state) {
    case 'RUNNING':
    case 'INTERRUPTED':
      return 1;
    case 'PREEMPTED':
    case 'WAIT_CPU':
    case 'BLOCKED_BY_REQUEST':
      return 0.68;
    case 'UNKNOWN':
      return 0.12;
    default:
      return 0.34;
  }
}

/** A colour of its own for a thread, a request or a service: the same number always gets the same one. */
export function identityColour(theme: ThemeName, identity: number): Colour {
  // The golden angle keeps neighbours in number far apart in hue.
  const hue = (identity * 137.508) % 360;
  const lift = (Math.floor(identity / 7) % 3) * 0.05;
  return theme === 'light' ? fromHsl(hue, 0.42, 0.47 + lift) : fromHsl(hue, 0.45, 0.56 + lift);
}

export function textIdentity(text: string): number {
  let hash = 2166136261;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
  }
  return (hash >>> 0) % 9973;
}

export function cssColour(colour: Colour): string {
  return `#${colour.toString(16).padStart(6, '0')}`;
}

/** `share` of `over`, the rest of `under`. */
export function blend(under: Colour, over: Colour, share: number): Colour {
  const mix = (shift: number) => {
    const low = (under >> shift) & 255;
    return Math.round(low + (((over >> shift) & 255) - low) * share) << shift;
  };
  return mix(16) | mix(8) | mix(0);
}

/** For text on a colour: whichever of black and white reads better. */
export function textColourOn(colour: Colour): Colour {
  return contrast(colour, 0xffffff) >= contrast(colour, 0x101418) ? 0xffffff : 0x101418;
}

/** The contrast ratio of WCAG 2, from 1 to 21. */
export function contrast(one: Colour, other: Colour): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: Colour): number {
  const channel = (shift: number) => {
    const value = ((colour >> shift) & 255) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(16) + 0.7152 * channel(8) + 0.0722 * channel(0);
}

function fromHsl(hue: number, saturation: number, lightness: number): Colour {
  const amplitude = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const position = (offset + hue / 30) % 12;
    const value = lightness - amplitude * Math.max(-1, Math.min(position - 3, 9 - position, 1));
    return Math.round(value * 255);
  };
  return (channel(0) << 16) | (channel(8) << 8) | channel(4);
}
