// Numbers as people read them: durations and times with sensible units, shares, bytes, counts. Pure;
// no colours, no elements.
import type { Request, StateName } from './interface';

const THIN_SPACE = '\u202f';

const UNITS: [number, string][] = [
  [1e9, 's'],
  [1e6, 'ms'],
  [1e3, 'µs'],
  [1, 'ns'],
];

/** Three significant digits and a unit; from two minutes on, minutes and seconds. */
export function wordDuration(nanoseconds: number): string {
  const size = Math.abs(nanoseconds);
  const sign = nanoseconds < 0 ? '−' : '';
  if (size >= 120e9) {
    const seconds = Math.round(size / 1e9);
    const hours = Math.floor(seconds / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    const rest = seconds % 60;
    return hours > 0 ? `${sign}${hours} h ${minutes} min` : `${sign}${minutes} min ${rest} s`;
  }
  if (size === 0) return '0';
  for (const [factor, unit] of UNITS) {
    // 999.6 µs rounds to 1000 µs: better said as 1.00 ms.
    if (size >= factor * 0.9995 || factor === 1) {
      return `${sign}${threeDigits(size / factor)}${THIN_SPACE}${unit}`;
    }
  }
  return `${sign}${size}${THIN_SPACE}ns`;
}

function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  if (value >= 9.995) return trimmed(value.toFixed(1));
  return trimmed(value.toFixed(2));
}

function trimmed(text: string): string {
  return text.endsWith('.00') ? text.slice(0, -3) : text.endsWith('.0') ? text.slice(0, -2) : text;
}

/** A moment of the recording in seconds, with as many digits as `resolution` (ns) makes sense of. */
export function wordTime(nanoseconds: number, resolution = 1): string {
  const decimals = Math.min(9, Math.max(3, Math.ceil(9 - Math.log10(Math.max(1, resolution)))));
  const sign = nanoseconds < 0 ? '−' : '';
  const whole = Math.round(Math.abs(nanoseconds));
  const seconds = Math.floor(whole / 1e9);
  const fraction = String(whole % 1e9)
    .padStart(9, '0')
    .slice(0, decimals);
  const grouped = fraction.replace(/(\d{3})(?=\d)/g, `$1${THIN_SPACE}`);
  return `${sign}${seconds}.${grouped}${THIN_SPACE}s`;
}

export function wordShare(share: number): string {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return '<0.1 %';
  if (percent >= 9.95 || percent === 0) return `${percent.toFixed(0)} %`;
  return `${percent.toFixed(1)} %`;
}

export function wordBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : threeDigits(value)}${THIN_SPACE}${units[unit]}`;
}

export function wordCount(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+(?!\d))/g, THIN_SPACE);
}

/** How long a request took; marked where that is not known, as its start or end is not recorded. */
export function wordLength({ duration_ns, shown }: Pick<Request, 'duration_ns' | 'shown'>): string {
  return `${shown === 'whole' ? '' : `?${THIN_SPACE}`}${wordDuration(duration_ns)}`;
}

/** "1 request", "3 requests". */
export function wordNumberOf(count: number, noun: string): string {
  return `${wordCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Wall-clock time of a moment, in the user's zone; `origin` in ns since the epoch, as a decimal string. */
export function wordWallClock(origin: string, nanoseconds: number): string {
  const milliseconds = Number((BigInt(origin) + BigInt(Math.round(nanoseconds))) / 1_000_000n);
  const date = new Date(milliseconds);
  const pad = (value: number, width = 2) => String(value).padStart(width, '0');
  return (
    `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ` +
    `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`
  );
}

export interface StateWords {
  title: string;
  meaning: string;
}

export const STATE_WORDS: Record<StateName, StateWords> = {
  RUNNING: { title: 'Running', meaning: 'on a processor, doing its own work' },
  PREEMPTED: { title: 'Preempted', meaning: 'able to run, but taken off the processor' },
  WAIT_CPU: { title: 'Waiting for CPU', meaning: 'woken up, waiting for a processor' },
  INTERRUPTED: { title: 'Interrupted', meaning: 'the processor serves an interrupt meanwhile' },
  BLOCKED: { title: 'Blocked by thread', meaning: 'waiting until another thread wakes it' },
  TIMER: { title: 'Timer', meaning: 'sleeping until a time' },
  BLOCK_DEVICE: { title: 'Disk', meaning: 'waiting for a block device' },
  NETWORK: { title: 'Network', meaning: 'waiting for a packet' },
  USER_INPUT: { title: 'User input', meaning: 'waiting for a keyboard or a mouse' },
  IPI: { title: 'Other processor', meaning: 'woken by an interrupt from another processor' },
  UNKNOWN: { title: 'Unknown', meaning: 'the recording does not tell' },
  BLOCKED_BY_REQUEST: {
    title: 'Blocked by request',
    meaning: 'its thread works for another request meanwhile',
  },
};

const WAIT_WORDS: Partial<Record<StateName, string>> = {
  PREEMPTED: 'able to run, but off the processor',
  WAIT_CPU: 'for a processor',
  BLOCKED: 'for another thread',
  TIMER: 'for a timer',
  BLOCK_DEVICE: 'for the disk',
  NETWORK: 'for the network',
  USER_INPUT: 'for input',
  IPI: 'for another processor',
  BLOCKED_BY_REQUEST: 'while its thread worked for another request',
};

/** What a wait was for, after "12 ms". */
export function wordWait(state: string): string {
  return WAIT_WORDS[state as StateName] ?? 'for what the recording does not tell';
}
