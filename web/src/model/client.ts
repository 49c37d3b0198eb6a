// Asks the server. An answer that is not computed yet (status 202) is asked for again, telling its
// progress meanwhile; a report has its answers in the page (report.ts); errors carry the server's title and hint. Keeps no answers: that is answers.ts.

import { answerOfReport, isReport } from './report';

export interface Waiting {
  job: string;
  done: number;
}

export interface Question {
  path: string;
  body?: unknown;
  form?: 'json' | 'bytes';
}

export class ServerError extends Error {
  constructor(
    readonly title: string,
    readonly detail: string,
    readonly status: number,
  ) {
    super(detail ? `${title}: ${detail}` : title);
    this.name = 'ServerError';
  }
}

const FIRST_PAUSE = 150;
const LONGEST_PAUSE = 1500;

export async function ask(
  question: Question,
  signal?: AbortSignal,
  onWaiting?: (waiting: Waiting) => void,
): Promise<unknown> {
  if (isReport) return askReport(question);
  let pause = FIRST_PAUSE;
  for (;;) {
    const response = await send(question, signal);
    if (response.status === 202) {
      onWaiting?.((await response.json()) as Waiting);
      await sleep(pause, signal);
      pause = Math.min(pause * 1.5, LONGEST_PAUSE);
      continue;
    }
    if (!response.ok) throw await errorOf(response);
    return question.form === 'bytes' ? response.arrayBuffer() : response.json();
  }
}

function askReport({ path, body }: Question): unknown {
  const answer = answerOfReport(path, body);
  if (answer !== undefined) return answer;
  throw new ServerError(
    'The report does not hold this',
    'It has the findings and the slowest requests. Open the recording itself (`slowpath serve`) for the rest.',
    404,
  );
}

/** A path with a query of those values that are there. */
export function withQuery(path: string, values: Record<string, string | number | null | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

async function send(question: Question, signal?: AbortSignal): Promise<Response> {
  const request: RequestInit = { signal: signal ?? null };
  if (question.body !== undefined) {
    request.method = 'POST';
    request.headers = { 'content-type': 'application/json' };
    request.body = JSON.stringify(question.body);
  }
  try {
    return await fetch(question.path, request);
  } catch (failure) {
    if (signal?.aborted) throw failure;
    throw new ServerError(
      'The server does not answer',
      'Is `slowpath serve` still running? Reload the page once it is.',
      0,
    );
  }
}

async function errorOf(response: Response): Promise<ServerError> {
  try {
    const told = (await response.json()) as { title?: string; detail?: string };
    return new ServerError(
      told.title ?? `The server answered ${response.status}`,
      told.detail ?? '',
      response.status,
    );
  } catch {
    return new ServerError(`The server answered ${response.status}`, '', response.status);
  }
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}
