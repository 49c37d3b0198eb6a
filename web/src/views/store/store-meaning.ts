// What the values of the store's rows mean, in ink and in words: what a thread does, where a client's request lies,
// or which command it is. Pure.
import { identityColour, stateColour, textIdentity, type ThemeName } from '../../draw/colours';
import type { Ink } from '../../draw/pixel-rows';
import type { StateName, StoreRowList } from '../../model/interface';
import type { StoreLine } from './store-rows';

interface Look {
  title: string;
  meaning: string;
  /** The state whose colour it has. */
  like: StateName;
  weight: number;
}

/** By the names that the server has for them. */
export const LOOKS: Record<string, Look> = {
  reading: { title: 'Reading', meaning: 'reads what a client sent', like: 'TIMER', weight: 1 },
  executing: { title: 'Executing', meaning: 'executes a command', like: 'RUNNING', weight: 1 },
  writing: { title: 'Writing', meaning: 'writes replies', like: 'NETWORK', weight: 1 },
  'query-buffer': {
    title: 'Queued',
    meaning: 'what the client sent is read, or waits for the event loop',
    like: 'WAIT_CPU',
    weight: 0.5,
  },
  arguments: { title: 'Executing', meaning: 'the command is executed', like: 'RUNNING', weight: 1 },
  'reply-buffer': {
    title: 'Replying',
    meaning: 'the reply waits to be written, or is written',
    like: 'BLOCKED',
    weight: 0.5,
  },
  'tls-read': { title: 'ssl_read', meaning: 'a thread asked OpenSSL for more', like: 'TIMER', weight: 1 },
  'read-postponed': {
    title: 'read_postponed',
    meaning: 'reading was left to the I/O threads',
    like: 'WAIT_CPU',
    weight: 0.5,
  },
  freed: { title: 'free_client', meaning: 'the client was freed', like: 'BLOCK_DEVICE', weight: 1 },
  'unwatched-in-part': {
    title: 'delete_file_event',
    meaning: 'the event loop watches the connection less',
    like: 'UNKNOWN',
    weight: 0.5,
  },
  unwatched: {
    title: 'delete_file_event',
    meaning: 'the event loop watches the connection no more',
    like: 'UNKNOWN',
    weight: 1,
  },
};

/** Those that are told apart by colour. */
export const LEGEND = ['reading', 'query-buffer', 'executing', 'reply-buffer', 'writing'] as const;

export interface StoreMeaning {
  inkOf: (line: StoreLine) => (value: number) => Ink;
  labelOf: (line: StoreLine, value: number) => string;
  wordsOf: (line: StoreLine, value: number) => string;
}

const NO_INK: Ink = { colour: 0, weight: 0 };

export function storeMeaning(list: StoreRowList, theme: ThemeName, byCommand: boolean): StoreMeaning {
  const ofNames = (names: readonly string[]) => {
    const inks = names.map((name): Ink => {
      const look = LOOKS[name];
      return look ? { colour: stateColour(theme, look.like), weight: look.weight } : NO_INK;
    });
    return (value: number) => inks[value] ?? NO_INK;
  };
  const commands = list.commands.map((name): Ink => ({
    colour: identityColour(theme, textIdentity(name)),
    weight: 0.8,
  }));
  const ofCommand = (value: number) => commands[value] ?? NO_INK;
  const ofStructure = ofNames(list.structures);
  const ofOperation = ofNames(list.operations);
  const ofConnection = ofNames(list.connection_operations);
  const isConnection = (line: StoreLine) => line.shown?.kind === 'connection';
  const isDoneToIt = (line: StoreLine) => line.shown?.kind === 'connection-operations';
  const showsCommand = (line: StoreLine) => byCommand && isConnection(line);
  const nameOf = (line: StoreLine, value: number) => {
    if (showsCommand(line)) return list.commands[value];
    if (isDoneToIt(line)) return list.connection_operations[value];
    return (isConnection(line) ? list.structures : list.operations)[value];
  };
  return {
    inkOf: (line) => {
      if (showsCommand(line)) return ofCommand;
      if (isDoneToIt(line)) return ofConnection;
      return isConnection(line) ? ofStructure : ofOperation;
    },
    labelOf: (line, value) => {
      const name = nameOf(line, value) ?? '';
      return showsCommand(line) ? name : (LOOKS[name]?.title ?? name);
    },
    wordsOf: (line, value) => {
      const name = nameOf(line, value) ?? String(value);
      const look = LOOKS[name];
      return showsCommand(line) || !look ? name : `${look.title}: ${look.meaning}`;
    },
  };
}
