// Every view in both themes: it says no error and prints none, axe finds nothing (roles, names, contrast, focus),
// and, on the made-up recording, it looks as it did when somebody looked at it (pictures.mjs).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { noBrowser, realServer, settled, startBrowser } from './browser.mjs';
import { TOLERATED, changeSince, useFont } from './pictures.mjs';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Of each: its address, and what is taken away to prove that this would be noticed. */
const PLACES = {
  overview: ['#/overview', '.panel'],
  requests: ['#/requests', '.time-graph-canvas'],
  threads: ['#/threads', '.time-graph-canvas'],
  services: ['#/services', '.service-map'],
  contexts: ['#/services?show=contexts', '.icicle'],
  events: ['#/events', '.event-space'],
  cpu: ['#/analyses', '.data-table-space'],
  latency: ['#/analyses?kind=latency', '.data-table-space'],
};
const MADE_UP_PLACES = {
  store: ['#/store', '.time-graph-canvas'],
  transfers: ['#/transfers', '.use-bar'],
  'store-commands': [
    '#/store?show=commands&colour=commands&chart=bytes&range=1990000000-2060000000',
    '.data-table-space',
  ],
  'store-operations': ['#/store?show=operations&range=2060000000-2068000000', '.time-graph-canvas'],
  'threads-folded': ['#/threads?fold=yes&text=GC', '.time-graph-canvas'],
  'threads-io': ['#/threads?io=yes', '.io-lines'],
  thread: ['#/threads?thread=8&range=1295000000-1325000000&at=1301000000', '.time-graph-canvas'],
  request: ['#/requests?request=712&at=2400000000', '.time-graph-canvas'],
  'request-by-clock': [
    '#/requests?request=712&align=clock&only=range&range=2300000000-2600000000',
    '.time-graph-canvas',
  ],
  comparison: ['#/requests?compare=bands', '.data-table-space'],
};

describe('every view', { skip: noBrowser }, () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  for (const theme of ['light', 'dark']) {
    test(theme, async (context) => {
      const page = await browser.open('#/overview', { theme });
      await page.evaluate(axe);
      await useFont(page);
      const places = { ...PLACES, ...(realServer ? {} : MADE_UP_PLACES) };
      for (const [name, [hash, part]] of Object.entries(places)) {
        await context.test(name, async () => {
          await page.evaluate((place) => window.location.assign(place), hash);
          await settled(page);
          assert.equal(await page.locator('.notice.is-error').count(), 0);
          assert.deepEqual(await violations(page), []);
          assert.deepEqual(page.complaints.splice(0), []);
          const isKept = theme === 'light' || name in PLACES;
          if (!realServer && isKept)
            await looksAsKept(page, `${name}-${theme}`, theme === 'light' ? part : null);
        });
      }
    });
  }

  // A server of its own, as nothing else has been opened where an exploration has.
  for (const theme of ['light', 'dark']) {
    test(`exploration, ${theme}`, { skip: realServer ? 'for the made-up exploration' : false }, async () => {
      const exploring = await startBrowser({ exploration: true });
      try {
        const page = await exploring.open('#/exploration', { theme });
        await page.evaluate(axe);
        await useFont(page);
        await settled(page);
        assert.deepEqual(await violations(page), []);
        await looksAsKept(page, `exploration-${theme}`, theme === 'light' ? '.heat-maps' : null);
        // What lies below.
        await page
          .getByRole('region', { name: 'Parallel coordinates' })
          .evaluate((part) => part.scrollIntoView());
        await looksAsKept(page, `exploration-lines-${theme}`, theme === 'light' ? '.parallel' : null);
        assert.deepEqual(page.complaints, []);
      } finally {
        await exploring.close();
      }
    });
  }

  test('help', async () => {
    const page = await browser.open('#/overview');
    await page.getByRole('button', { name: 'Help' }).click();
    await page.getByRole('dialog').waitFor();
    await page.evaluate(axe);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
});

async function looksAsKept(page, name, part) {
  const changed = await changeSince(page, name);
  assert.ok(
    changed <= TOLERATED,
    `${(changed * 100).toFixed(2)} % of the view look different: see pictures/${name}-changed.webp\n` +
      '  hint: if it is meant to be so, npm run accept-pictures',
  );
  if (part === null) return;
  const shown = page.locator(`main ${part}`).first();
  await shown.evaluate((element) => {
    element.style.visibility = 'hidden';
  });
  const broken = await changeSince(page, name, false);
  assert.ok(broken > TOLERATED, `without ${part} only ${(broken * 100).toFixed(2)} % look different`);
  await shown.evaluate((element) => {
    element.style.visibility = '';
  });
}

async function violations(page) {
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary?.split('\n')[1] ?? ''}`),
  );
}
