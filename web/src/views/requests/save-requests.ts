// The list of requests as CSV: asked for in large pages, in the order and with the filters of the list.
// A column per state, in nanoseconds, so that a spreadsheet can go on from there.
import { ask, withQuery } from '../../model/client';
import { STATE_NAMES, type Request, type RequestPage } from '../../model/interface';
import { csvOf, type ValueColumn } from '../../parts/data-table/table-rows';
import { saveText } from '../../parts/save-file';
import type { RequestQuery } from './request-pages';

const PAGE = 1000;
const MOST = 100_000;

export async function saveRequests(
  query: RequestQuery,
  total: number,
  hostName: ((host: number) => string) | null,
): Promise<void> {
  const requests: Request[] = [];
  while (requests.length < Math.min(total, MOST)) {
    const path = withQuery('/api/requests', { ...query, offset: requests.length, limit: PAGE });
    const page = (await ask({ path })) as RequestPage;
    if (page.requests.length === 0) break;
    requests.push(...page.requests);
  }
  saveText('requests.csv', 'text/csv', csvOf(requests, requestColumns(hostName)));
}

export function requestColumns(hostName: ((host: number) => string) | null): ValueColumn<Request>[] {
  return [
    ...(hostName ? [{ key: 'host', title: 'host', value: (one: Request) => hostName(one.host) }] : []),
    { key: 'trace_id', title: 'trace_id', value: (one) => one.trace_id },
    { key: 'span_id', title: 'span_id', value: (one) => one.span_id },
    { key: 'service', title: 'service', value: (one) => one.service },
    { key: 'operation', title: 'operation', value: (one) => one.operation },
    { key: 'comm', title: 'comm', value: (one) => one.comm },
    { key: 'begin_ns', title: 'begin_ns', value: (one) => one.begin_ns },
    { key: 'duration_ns', title: 'duration_ns', value: (one) => one.duration_ns },
    { key: 'shown', title: 'shown', value: (one) => one.shown },
    { key: 'percentile', title: 'percentile', value: (one) => one.percentile ?? null },
    ...STATE_NAMES.map((state) => ({
      key: state,
      title: `${state.toLowerCase()}_ns`,
      value: (one: Request) => one.states[state] ?? 0,
    })),
  ];
}
