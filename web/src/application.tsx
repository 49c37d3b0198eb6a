// The frame around the views: names, navigation, the recording's minimap with the shared time range, how far
// the analyses are, theme and help. Which view is shown, the address says.
import { Suspense, lazy, useEffect, useMemo, useRef, useState } from 'react';
import { useAnswer } from './model/answers';
import { withQuery } from './model/client';
import type { Findings, Job, Recording, Usage } from './model/interface';
import { VIEWS, type ViewName } from './model/place';
import { addressOf, adjust, usePlace } from './model/place-store';
import {
  RecordingProvider,
  useAddressWithinRecording,
  useHasKernel,
  useProgress,
  useRecording,
  useSharedRange,
} from './model/recording';
import { isReport, viewsOfReport } from './model/report';
import { wordDuration, wordTime } from './model/wording';
import { span } from './draw/time-scale';
import { HelpDialog } from './parts/help-dialog';
import { Minimap } from './parts/minimap';
import { WaitingNotice, jobTitle } from './parts/notices';
import { chooseTheme, useThemeChoice, type ThemeChoice } from './parts/theme';
import { rangeAfterKey } from './parts/time-graph/graph-keys';
import { FailureFence } from './parts/failure-fence';
import { Overview } from './views/overview/overview';
import { Requests } from './views/requests/requests';
import { Threads } from './views/threads/threads';
import { Store } from './views/store/store';
import { Events } from './views/events/events';
import { Analyses } from './views/analyses/analyses';
import { Transfers } from './views/transfers/transfers';
import { Exploration } from './views/exploration/exploration';

// The scatter plot's library is large, and only this view needs it; reports (one file) have no such view.
const Services =
  import.meta.env.MODE === 'report'
    ? () => null
    : lazy(() => import('./views/services/services').then((module) => ({ default: module.Services })));

const TITLES: Record<ViewName, string> = {
  overview: 'Overview',
  requests: 'Requests',
  threads: 'Threads & CPUs',
  services: 'Services',
  store: 'Store',
  events: 'Events',
  analyses: 'Analyses',
  transfers: 'Transfers',
  exploration: 'Exploration',
};

export function Application() {
  return (
    <RecordingProvider>
      <Frame />
    </RecordingProvider>
  );
}

function Frame() {
  const place = usePlace();
  const recording = useRecording();
  useRangeKeys();
  const views = viewsOfReport(viewsOf(recording));
  const shown = views.includes(place.view) ? place.view : views[0]!;
  return (
    <div className="frame">
      <a className="skip-link" href="#view" onClick={focusView}>
        Skip to the view
      </a>
      <header className="top-bar">
        <h1 className="brand">
          <strong>slowpath</strong>{' '}
          <span className="brand-recording">
            {isReport ? 'report on ' : ''}
            {recording.name}
          </span>
        </h1>
        <nav aria-label="Views">
          {views.map((view) => (
            <a
              key={view}
              href={addressOf({ view, filters: {} })}
              aria-current={view === shown ? 'page' : undefined}
            >
              {TITLES[view]}
            </a>
          ))}
        </nav>
        <JobsChip />
        <ThemeSwitch />
        <HelpButton />
      </header>
      {recording.duration_ns > 0 && <RangeBar />}
      <main id="view" tabIndex={-1} aria-label={TITLES[shown]}>
        <FailureFence key={shown}>
          <Suspense fallback={<WaitingNotice waiting={null} />}>
            <View view={shown} />
          </Suspense>
        </FailureFence>
      </main>
    </div>
  );
}

/** Those that have anything to show, whatever is recorded later. */
function viewsOf(recording: Recording): readonly ViewName[] {
  const has: Partial<Record<ViewName, boolean>> = {
    store: recording.has_stores,
    transfers: recording.transfer_reports > 0,
    exploration: recording.has_exploration,
  };
  const isThere = (view: ViewName) => has[view] ?? true;
  const needNoRecording: ViewName[] = ['transfers', 'exploration'];
  const alone = needNoRecording.filter(isThere);
  if (alone.length > 0 && recording.traces.length === 0 && recording.span_files === 0) return alone;
  return VIEWS.filter(isThere);
}

function View({ view }: { view: ViewName }) {
  switch (view) {
    case 'overview':
      return <Overview />;
    case 'requests':
      return <Requests />;
    case 'threads':
      return <Threads />;
    case 'services':
      return <Services />;
    case 'store':
      return <Store />;
    case 'events':
      return <Events />;
    case 'analyses':
      return <Analyses />;
    case 'transfers':
      return <Transfers />;
    case 'exploration':
      return <Exploration />;
  }
}

const MINIMAP_BUCKETS = 480;
const NOT_BUSY: (number | null)[] = [];

function RangeBar() {
  useAddressWithinRecording();
  const { range, bounds, setRange } = useSharedRange();
  const { at } = usePlace();
  const hasKernel = useHasKernel();
  const usage = useAnswer<Usage>(
    hasKernel
      ? {
          path: withQuery('/api/usage', {
            begin_ns: 0,
            end_ns: bounds.end,
            buckets: MINIMAP_BUCKETS,
          }),
        }
      : null,
  );
  const findings = useAnswer<Findings>({ path: '/api/findings' });
  const marks = useMemo(
    () =>
      (findings.value?.findings ?? [])
        .filter(
          (finding) => finding.severity === 'high' && finding.end_ns - finding.begin_ns < bounds.end * 0.95,
        )
        .map((finding) => ({ begin: finding.begin_ns, end: finding.end_ns })),
    [findings.value, bounds],
  );
  return (
    <section className="range-bar" aria-label="Time range">
      <Minimap
        bounds={bounds}
        range={range}
        onRange={setRange}
        at={at}
        busy={usage.value?.total ?? NOT_BUSY}
        marks={marks}
      />
      <div className="range-facts">
        <span title="How much time the views show">{wordDuration(span(range))}</span>
        <span className="muted" title="The selected time, since the recording's begin">
          {at === null ? 'no time selected' : `at ${wordTime(at, span(range) / 1000)}`}
        </span>
      </div>
      <button
        type="button"
        className="quiet-button"
        disabled={range.begin === bounds.begin && range.end === bounds.end}
        onClick={() => setRange(bounds)}
        title="Show all of the recording (key 0)"
      >
        All
      </button>
    </section>
  );
}

function JobsChip() {
  const progress = useProgress();
  const jobs = progress?.jobs.filter((job: Job) => job.wanted) ?? [];
  const busy = jobs.filter((job) => job.state === 'running' || job.state === 'waiting');
  if (!progress || progress.done || busy.length === 0) return null;
  const first = busy.find((job) => job.state === 'running') ?? busy[0]!;
  const finished = jobs.length - busy.length;
  return (
    <span className="jobs-chip" role="status" title={jobTitle(first.id)}>
      <progress
        max={jobs.length}
        value={finished + busy.reduce((sum, job) => sum + job.done, 0)}
        aria-label="Analyses that are done"
      />
      {first.id} {Math.floor(first.done * 100)} %
    </span>
  );
}

const NEXT_THEME: Record<ThemeChoice, ThemeChoice> = {
  system: 'light',
  light: 'dark',
  dark: 'system',
};
const THEME_WORDS: Record<ThemeChoice, string> = { system: 'Auto', light: 'Light', dark: 'Dark' };

function ThemeSwitch() {
  const choice = useThemeChoice();
  return (
    <button
      type="button"
      className="quiet-button"
      onClick={() => chooseTheme(NEXT_THEME[choice])}
      title="Colours: as the system has them, light or dark"
    >
      <span className="visually-hidden">Colours: </span>
      {THEME_WORDS[choice]}
    </button>
  );
}

function HelpButton() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className="quiet-button"
        aria-label="Help"
        title="Keys and mouse"
        onClick={() => setOpen(true)}
      >
        ?
      </button>
      {open && <HelpDialog onClose={() => setOpen(false)} />}
    </>
  );
}

const TAKES_NO_LETTERS = 'button, a, input[type="checkbox"]';

/** W A S D and 0 also work while nothing that takes these keys has the focus: also on what was clicked. */
function useRangeKeys(): void {
  const shared = useSharedRange();
  const { at, view } = usePlace();
  const latest = useRef({ ...shared, at, view });
  latest.current = { ...shared, at, view };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement;
      const nothingHasFocus = target === document.body || target.id === 'view';
      if (!nothingHasFocus && !target.closest(TAKES_NO_LETTERS)) return;
      if (target.closest('dialog, [role="dialog"]')) return;
      if (nothingHasFocus && event.key === 'Escape') adjust({ at: null });
      if (!/^[wasdWASD0]$/.test(event.key)) return;
      const { range, bounds, setRange, at } = latest.current;
      const moved = rangeAfterKey(event.key, range, bounds, at);
      if (moved) setRange(moved);
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
}

/** The address belongs to the place, so the skip link moves the focus instead of the address. */
function focusView(event: React.MouseEvent): void {
  event.preventDefault();
  document.getElementById('view')?.focus();
}
