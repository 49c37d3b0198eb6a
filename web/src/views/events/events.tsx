// The recording's events around the selected time, as far as one scrolls in either direction. Selecting an
// event selects its time in all views; selecting a time elsewhere brings its events here.
import { useLayoutEffect, useRef, useState, type KeyboardEvent } from 'react';
import type { TimeRange } from '../../draw/time-scale';
import { toThread } from '../../model/jumps';
import { addressOf, adjust, usePlace } from '../../model/place-store';
import { useRecording, useSharedRange } from '../../model/recording';
import { wordCount, wordDuration, wordTime } from '../../model/wording';
import { useElementSize } from '../../parts/element-size';
import { EmptyNotice, ErrorNotice, WaitingNotice } from '../../parts/notices';
import { SaveButtons } from '../../parts/save-buttons';
import { SearchField } from '../../parts/search-field';
import { indexOfTime, keyOfEvent, useEvents, type Events as EventList } from './event-pages';
import { MOST_SAVED, saveEvents } from './save-events';

const ROW = 24;
const HEAD = 28;

export function Events() {
  const { filters, at } = usePlace();
  const { range } = useSharedRange();
  const time = at ?? range.begin;
  const name = filters.name ?? '';
  const text = filters.text ?? '';
  const events = useEvents(time, name, text);
  const { stretch } = events;
  return (
    <div className="view-column">
      <div className="tool-bar" role="search">
        <SearchField
          label="Names of events"
          placeholder="Name, as sched_switch"
          value={name}
          onChange={(value) => adjust({ filters: { name: value } })}
        />
        <SearchField
          label="Text of events"
          placeholder="Text in the fields"
          value={text}
          onChange={(value) => adjust({ filters: { text: value } })}
        />
        <span className="muted">
          {events.loading
            ? 'Looking …'
            : at === null
              ? 'from the begin of the shown time'
              : `around ${wordTime(at, 1)}`}
        </span>
        <span className="spacer" />
        {stretch && stretch.events.length > 0 && <SaveShown range={range} name={name} text={text} />}
      </div>
      <div className="view-rest">
        <EventsAround events={events} time={time} filtered={name !== '' || text !== ''} />
      </div>
    </div>
  );
}

/** Saves all events of the shown time that fit, and tells how far it is. */
function SaveShown({ range, name, text }: { range: TimeRange; name: string; text: string }) {
  const [count, setCount] = useState<number | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const save = () => {
    setCount(0);
    setError(null);
    saveEvents(range, { name, text }, setCount)
      .catch((failure: unknown) => setError(failure as Error))
      .finally(() => setCount(null));
  };
  if (count !== null) return <span className="muted">{wordCount(count)} events …</span>;
  return (
    <>
      {error && <span className="muted">{error.message}</span>}
      <SaveButtons
        what={`the events of the shown time (at most ${wordCount(MOST_SAVED)})`}
        savers={{ csv: save }}
      />
    </>
  );
}

interface EventsAroundProps {
  events: EventList;
  time: number;
  filtered: boolean;
}

/** The events around a time, for this view and beside a request. */
export function EventsAround({ events, time, filtered }: EventsAroundProps) {
  const { stretch, error } = events;
  if (error) return <ErrorNotice error={error} />;
  if (!stretch) return <WaitingNotice waiting={null} />;
  if (stretch.events.length === 0 && stretch.goesOn) {
    return (
      <EmptyNotice title="Searching …">
        Nothing fits between {wordTime(stretch.from, 1)} and {wordTime(stretch.to, 1)}.
      </EmptyNotice>
    );
  }
  if (stretch.events.length === 0) {
    return (
      <EmptyNotice title="No such events here">
        {filtered
          ? 'No event of the recording fits the names and texts above.'
          : 'The recording has no events here.'}
      </EmptyNotice>
    );
  }
  return <EventRows events={events} time={time} />;
}

function EventRows({ events, time }: { events: EventList; time: number }) {
  const { at } = usePlace();
  const { hosts } = useRecording();
  const { bounds } = useSharedRange();
  const element = useRef<HTMLDivElement>(null);
  const { height } = useElementSize(element);
  const [scrollTop, setScrollTop] = useState(0);
  const lines = events.stretch!.events;
  const anchor = useRef<{ key: string; offset: number } | null>(null);
  const chosenHere = useRef<number | null>(null);

  // Where events were put before those in sight, the ones in sight stay where they are.
  useLayoutEffect(() => {
    const present = element.current;
    if (!present || !anchor.current) return;
    const index = lines.findIndex((event) => keyOfEvent(event) === anchor.current!.key);
    if (index >= 0) present.scrollTop = index * ROW - anchor.current.offset;
  }, [lines]);

  // A time that was selected elsewhere comes into sight.
  useLayoutEffect(() => {
    const present = element.current;
    if (!present || height === 0 || chosenHere.current === time) return;
    const index = indexOfTime(lines, time);
    present.scrollTop = Math.max(0, index * ROW - height / 3);
    setScrollTop(present.scrollTop);
  }, [time, height === 0, events.loading]);

  const onScroll = () => {
    const present = element.current!;
    setScrollTop(present.scrollTop);
    const top = Math.min(lines.length - 1, Math.max(0, Math.floor(present.scrollTop / ROW)));
    const first = lines[top];
    anchor.current = first ? { key: keyOfEvent(first), offset: top * ROW - present.scrollTop } : null;
    if (present.scrollTop < ROW * 30) events.loadEarlier();
    if (present.scrollTop + height > lines.length * ROW - ROW * 30) events.loadLater();
  };

  const first = Math.max(0, Math.floor(scrollTop / ROW) - 5);
  const end = Math.min(lines.length, Math.ceil((scrollTop + height) / ROW) + 5);
  const selectedIndex = at === null ? -1 : lines.findIndex((event) => event.at_ns === at);
  const choose = (index: number) => {
    const event = lines[index];
    if (!event) return;
    chosenHere.current = event.at_ns;
    adjust({ at: event.at_ns });
    const present = element.current!;
    if (index * ROW < present.scrollTop) present.scrollTop = index * ROW;
    const below = (index + 1) * ROW + HEAD - (present.scrollTop + height);
    if (below > 0) present.scrollTop += below;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const from = selectedIndex >= 0 ? selectedIndex : Math.floor(scrollTop / ROW);
    choose(Math.min(lines.length - 1, Math.max(0, from + step)));
  };

  return (
    <div
      ref={element}
      className="event-table"
      role="grid"
      aria-label="Events"
      aria-rowcount={-1}
      aria-activedescendant={
        selectedIndex >= first && selectedIndex < end ? `event-${selectedIndex}` : undefined
      }
      tabIndex={0}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div className="event-row is-head" role="row">
        <div role="columnheader" className="is-right">
          Time
        </div>
        <div role="columnheader" className="is-right">
          Step
        </div>
        {hosts.length > 1 && <div role="columnheader">Host</div>}
        <div role="columnheader" className="is-right">
          CPU
        </div>
        <div role="columnheader" className="is-right">
          Thread
        </div>
        <div role="columnheader">Event</div>
        <div role="columnheader">Fields</div>
      </div>
      <div className="event-space" role="rowgroup" style={{ height: lines.length * ROW }}>
        {lines.slice(first, end).map((event, offset) => {
          const index = first + offset;
          const before = lines[index - 1];
          return (
            <div
              key={index}
              id={`event-${index}`}
              role="row"
              aria-selected={index === selectedIndex}
              className={`event-row ${index === selectedIndex ? 'is-selected' : ''}`}
              style={{ top: index * ROW }}
              onClick={() => choose(index)}
            >
              <div role="gridcell" className="is-right">
                {wordTime(event.at_ns, 1)}
              </div>
              <div role="gridcell" className="is-right muted">
                {before ? `+${wordDuration(event.at_ns - before.at_ns)}` : ''}
              </div>
              {hosts.length > 1 && <div role="gridcell">{event.host_name}</div>}
              <div role="gridcell" className="is-right">
                {event.cpu ?? ''}
              </div>
              <div role="gridcell" className="is-right">
                {event.tid !== null && event.tid !== 0 && event.host !== null ? (
                  <a
                    href={addressOf(
                      toThread(
                        event.tid,
                        event.host,
                        { begin: event.at_ns, end: event.at_ns + 1_000_000 },
                        bounds,
                      ),
                    )}
                    title="Show the thread at this time"
                  >
                    {event.tid}
                  </a>
                ) : (
                  (event.tid ?? '')
                )}
              </div>
              <div role="gridcell" className="event-name">
                {event.name}
              </div>
              <div role="gridcell" className="mono" title={event.text}>
                {event.text}
              </div>
            </div>
          );
        })}
      </div>
    </div>
  );
}
