// Where there are no requests the overview says why, and leads to what the recording tells instead.
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { beforeAll, expect, test, vi } from 'vitest';
import type { NoRequests as Component } from './no-requests';

let NoRequests: typeof Component;

beforeAll(async () => {
  // Links ask for the present place, which is the browser's address.
  vi.stubGlobal('window', { addEventListener: () => {}, location: { hash: '' } });
  vi.stubGlobal('document', { getElementById: () => null });
  ({ NoRequests } = await import('./no-requests'));
});

const NOTHING = { stillRecorded: false, spanFiles: 0, kernel: false, stores: false };

function shown(told: Partial<typeof NOTHING>) {
  const page = renderToStaticMarkup(createElement(NoRequests, { ...NOTHING, ...told }));
  return {
    title: /<strong>(.*?)<\/strong>/.exec(page)?.[1],
    links: [...page.matchAll(/href="#\/(\w+)/g)].map((match) => match[1]),
  };
}

test('a recording of a data store leads to its page', () => {
  expect(shown({ stores: true })).toEqual({
    title: 'A data store only: no requests of services',
    links: ['store'],
  });
  expect(shown({ stores: true, kernel: true })).toEqual({
    title: 'A data store and the kernel: no requests of services',
    links: ['store'],
  });
});

test('spans that no trace tells more of lead to services, and to the store where there is one', () => {
  const title = 'Spans, but no requests that a trace tells more of';
  expect(shown({ spanFiles: 1 })).toEqual({ title, links: ['services'] });
  expect(shown({ spanFiles: 1, stores: true })).toEqual({ title, links: ['services', 'store'] });
});

test('nothing else is promised', () => {
  expect(shown({})).toEqual({ title: 'No requests in this recording', links: [] });
  expect(shown({ stores: true, stillRecorded: true })).toEqual({ title: 'No requests yet', links: [] });
});
