// A report: the page saved with answers in it, to be read without a server. Where the page carries a script
// element with the id "slowpath-report", all answers come from it and nothing is fetched.
// Its form: {"answers": {"/api/recording": …, "/api/requests/17": …, "POST /api/compare {…}": …}}.
import type { Paths, RequestDetail } from './interface';
import type { PlaceChange, ViewName } from './place';

interface Report {
  answers: Record<string, unknown>;
}

const report: Report | null = readReport();

export const isReport = report !== null;

/** The views that a report has answers for. */
export function viewsOfReport(all: readonly ViewName[]): readonly ViewName[] {
  if (!report) return all;
  const held = (view: ViewName) =>
    view === 'overview' ||
    (view === 'requests' && Object.keys(report.answers).some((key) => /^\/api\/requests\/\d+$/.test(key)));
  return all.filter(held);
}

/** Whether a place can be shown: always with a server, in a report only what it has answers for. */
export function leadsSomewhere(to: PlaceChange): boolean {
  if (!report) return true;
  const filtered = Object.values(to.filters ?? {}).some((value) => value !== null);
  return (
    to.view === 'requests' &&
    !filtered &&
    to.request !== null &&
    to.request !== undefined &&
    `/api/requests/${to.request}` in report.answers
  );
}

/** The answer to a question, or undefined where the report does not hold it. */
export function answerOfReport(path: string, body: unknown): unknown {
  if (!report) return undefined;
  if (path === '/api/progress') return { jobs: [], done: true };
  if (path === '/api/paths') return pathsOfReport(report, body as { requests: number[] });
  return report.answers[body === undefined ? path : `POST ${path} ${JSON.stringify(body)}`];
}

/** Paths are taken from the requests that the report holds, whichever of them are in sight. */
function pathsOfReport(held: Report, { requests }: { requests: number[] }): Paths {
  return {
    paths: requests.flatMap((id) => {
      const detail = held.answers[`/api/requests/${id}`] as RequestDetail | undefined;
      return detail ? [{ id, path: detail.path }] : [];
    }),
  };
}

function readReport(): Report | null {
  const element = typeof document === 'undefined' ? null : document.getElementById('slowpath-report');
  return element ? (JSON.parse(element.textContent ?? '{"answers":{}}') as Report) : null;
}
