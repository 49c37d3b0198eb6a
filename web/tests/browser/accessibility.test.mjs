// Every view is checked with axe in both themes: roles, names, contrast, focus. Violations are printed with
// the elements that they are about.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { noBrowser, realServer, settled, startBrowser } from './browser.mjs';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PLACES = {
  overview: '#/overview',
  requests: '#/requests',
  'threads, one followed': realServer
    ? '#/threads'
    : '#/threads?thread=8&range=1295000000-1325000000&at=1301000000',
  services: '#/services',
  events: '#/events',
  'analyses, cpu': '#/analyses',
  'analyses, latency': '#/analyses?kind=latency',
  ...(realServer
    ? {}
    : {
        'a request': '#/requests?request=712&at=2400000000',
        'a request by the clock': '#/requests?request=712&align=clock&only=range&range=2300000000-2600000000',
        comparison: '#/requests?compare=bands',
      }),
};

describe('accessibility', { skip: noBrowser }, () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());
  for (const theme of ['light', 'dark']) {
    for (const [name, hash] of Object.entries(PLACES)) {
      test(`${name}, ${theme}`, async () => {
        const page = await browser.open(hash, { theme });
        await settled(page);
        assert.deepEqual(await violations(page), []);
      });
    }
  }
  test('help', async () => {
    const page = await browser.open('#/overview');
    await page.getByRole('button', { name: 'Help' }).click();
    await page.getByRole('dialog').waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary?.split('\n')[1] ?? ''}`),
  );
}
