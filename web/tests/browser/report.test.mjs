// The report: one file with answers in it, opened from disk. Made here from the mock's answers, in the way
// that `slowpath report` makes it from a recording.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { answerOf } from '../mock/answers.mjs';
import { keepPicture, noBrowser, realServer, settled, startBrowser } from './browser.mjs';

const DIST = fileURLToPath(new URL('../../dist/report/', import.meta.url));

function answers() {
  const held = {};
  const hold = (address) => {
    const url = new URL(address, 'http://localhost');
    held[address] = answerOf(url.pathname, url.searchParams, null);
    return held[address];
  };
  const { duration_ns: duration } = hold('/api/recording');
  hold(`/api/usage?begin_ns=0&end_ns=${duration}&buckets=480`);
  hold('/api/findings');
  for (const { service, operation, comm } of hold('/api/operations').operations) {
    hold(
      `/api/distribution?${new URLSearchParams({ service, operation: operation || comm, buckets: '60' })}`,
    );
  }
  const list = hold('/api/requests?sort=duration&order=desc&offset=0&limit=20');
  held['/api/requests?sort=duration&order=desc&offset=0&limit=100'] = {
    ...list,
    total: list.requests.length,
  };
  for (const { id } of list.requests) hold(`/api/requests/${id}`);
  return held;
}

async function reportPage() {
  const [script, style] = await Promise.all(
    ['report.js', 'report.css'].map((name) => readFile(join(DIST, name), 'utf8')),
  );
  const data = JSON.stringify({ answers: answers() }).replaceAll('<', '\\u003c');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>report</title><style>${style}</style></head>
<body><div id="application"></div><script type="application/json" id="slowpath-report">${data}</script><script>${script}</script></body></html>`;
}

describe('a report', { skip: noBrowser || (realServer ? 'for the made-up recording' : false) }, () => {
  test('opens from disk, and leads from the overview to a request', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'slowpath-report-'));
    const browser = await startBrowser();
    try {
      const file = join(folder, 'report.html');
      await writeFile(file, await reportPage());
      const page = await browser.open('#/overview', { address: pathToFileURL(file).href });
      await settled(page);
      assert.deepEqual(await page.getByRole('navigation').getByRole('link').allInnerTexts(), [
        'Overview',
        'Requests',
      ]);
      await keepPicture(page, 'report');
      await page.locator('.slowest-link').first().click();
      await page.locator('.verdict').waitFor();
      await page
        .locator('.time-graph-row')
        .nth(1)
        .click({ position: { x: 80, y: 10 } });
      await settled(page);
      await keepPicture(page, 'report-request');
      assert.equal(await page.locator('.notice.is-error').count(), 0);
      assert.deepEqual(page.complaints, []);
    } finally {
      await browser.close();
      await rm(folder, { recursive: true });
    }
  });
});
