// What the overview says where there are no requests: why, and which view has what the recording tells
// instead.
import { isReport } from '../../model/report';
import { EmptyNotice, NoRequestsYet } from '../../parts/notices';
import { PlaceLink } from '../../parts/place-link';

interface NoRequestsProps {
  stillRecorded: boolean;
  spanFiles: number;
  kernel: boolean;
  stores: boolean;
}

export function NoRequests(told: NoRequestsProps) {
  return (
    <section className="panel" aria-label="No requests">
      {told.stillRecorded ? <NoRequestsYet /> : <Why {...told} />}
    </section>
  );
}

function Why({ spanFiles, kernel, stores }: NoRequestsProps) {
  if (spanFiles > 0) {
    return (
      <EmptyNotice title="Spans, but no requests that a trace tells more of">
        None of the spans is of a recorded host.{' '}
        <PlaceLink to={{ view: 'services', filters: {} }}>What the spans tell by themselves</PlaceLink>
        {stores && <ToStore />}
      </EmptyNotice>
    );
  }
  if (stores) {
    return (
      <EmptyNotice title={`A data store${kernel ? ' and the kernel' : ' only'}: no requests of services`}>
        A data store was recorded from inside: its commands, its clients and what stands out are on a page of
        their own.
        <ToStore />
      </EmptyNotice>
    );
  }
  return (
    <EmptyNotice title="No requests in this recording">
      Requests come from spans: record with an agent that tells of them, or open a file of spans together with
      the trace.
      {kernel && !isReport && ' What every thread and processor did is there all the same.'}
    </EmptyNotice>
  );
}

function ToStore() {
  return (
    <>
      {' '}
      <PlaceLink to={{ view: 'store', filters: {} }} optional>
        What the data store did
      </PlaceLink>
    </>
  );
}
