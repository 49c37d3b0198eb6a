// What is shown instead of an answer: that it is being worked out and how far, that there is none, or what
// went wrong and what to do about it. Every view that shows an answer puts it into one of these.
import type { ReactNode } from 'react';
import type { Answer } from '../model/answers';
import type { Waiting } from '../model/client';
import { ServerError } from '../model/client';

const JOB_WORDS: Record<string, string> = {
  history: 'Working out what every thread did when',
  requests: 'Following the requests through threads',
  findings: 'Looking for what slows requests down',
  operations: 'Comparing slow and fast requests',
  services: 'Ranking calling contexts',
  store: 'Adding up what the data store did',
  'store-history': 'Working out what the data store did when',
  transfers: 'Reading what programs receive in vain',
  count: 'Counting events',
  cpu: 'Adding up processor use',
  io: 'Adding up input and output',
  latency: 'Measuring latencies',
};

export function jobTitle(job: string): string {
  return JOB_WORDS[job] ?? `Working on ${job}`;
}

export function WaitingNotice({ waiting }: { waiting: Waiting | null }) {
  const percent = waiting ? Math.floor(waiting.done * 100) : null;
  return (
    <div className="notice" role="status">
      <p>{waiting ? `${jobTitle(waiting.job)} …` : 'Loading …'}</p>
      {percent !== null && (
        <progress max={100} value={percent} aria-label="Progress">
          {percent} %
        </progress>
      )}
    </div>
  );
}

/** The server's word for what this recording has no answer to: nothing went wrong. */
const NEVER = 409;

export function ErrorNotice({ error }: { error: Error }) {
  const told = error instanceof ServerError ? error : null;
  if (told?.status === NEVER) return <EmptyNotice title={told.title}>{told.detail}</EmptyNotice>;
  return (
    <div className="notice is-error" role="alert">
      <p>
        <strong>{told ? told.title : 'Something went wrong'}</strong>
      </p>
      <p>{told ? told.detail : error.message}</p>
    </div>
  );
}

export function NoRequestsYet() {
  return (
    <EmptyNotice title="No requests yet">
      It was still being recorded when it was opened, and spans arrive until the end. Open it again when it
      has ended.
    </EmptyNotice>
  );
}

export function EmptyNotice({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="notice">
      <p>
        <strong>{title}</strong>
      </p>
      {children && <p>{children}</p>}
    </div>
  );
}

export function NoKernel() {
  return (
    <EmptyNotice title="No trace of the kernel in this recording">
      What threads and processors did comes from the kernel's events; <code>slowpath record</code> records
      them where it may.
    </EmptyNotice>
  );
}

/** Shows the answer once it is there, and until then how far it is. */
export function Answered<T>({ answer, children }: { answer: Answer<T>; children: (value: T) => ReactNode }) {
  if (answer.value !== null) return <>{children(answer.value)}</>;
  if (answer.error) return <ErrorNotice error={answer.error} />;
  return <WaitingNotice waiting={answer.waiting} />;
}
