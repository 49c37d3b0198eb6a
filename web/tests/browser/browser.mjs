// Opens the application in headless Chromium for tests: against the mock, or against a real server whose
// address is in SLOWPATH_SERVER. Whatever the page prints as an error or warning fails the test.
// Chromium is the distribution's (CHROMIUM names another); where there is none, tests are skipped and say so.
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startMock } from '../mock/server.mjs';
import { offerFont } from './pictures.mjs';

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';
const PICTURES = fileURLToPath(new URL('./pictures/', import.meta.url));
export const realServer = process.env.SLOWPATH_SERVER ?? null;
export const noBrowser = existsSync(EXECUTABLE) ? false : `no browser at ${EXECUTABLE}`;

export async function startBrowser(options = {}) {
  const mock = realServer && !options.slow && !options.exploration ? null : await startMock(options);
  const address = mock?.address ?? realServer;
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox'] });
  const pages = [];
  return {
    address,
    /** Lets the slow made-up recording be ready. */
    release: () => mock?.release(),
    async open(hash, { theme = 'light', width = 1440, height = 900, address: other } = {}) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        acceptDownloads: true,
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      await offerFont(context);
      const page = await context.newPage();
      page.complaints = [];
      page.asking = 0;
      page.latestAnswer = Date.now();
      page.on('request', () => {
        page.asking += 1;
      });
      for (const over of ['requestfinished', 'requestfailed']) {
        page.on(over, () => {
          page.asking -= 1;
          page.latestAnswer = Date.now();
        });
      }
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) page.complaints.push(message.text());
      });
      page.on('pageerror', (error) => page.complaints.push(error.stack ?? String(error)));
      await page.goto(other ? `${other}${hash}` : `${address}/${hash}`);
      await page.getByRole('navigation', { name: 'Views' }).waitFor();
      pages.push(context);
      return page;
    },
    async close() {
      for (const context of pages) await context.close();
      await browser.close();
      mock?.close();
    },
  };
}

/** Longer than the application waits before it asks or writes its address (0.25 s at most). */
const QUIET = 320;
const LONGEST = 60_000;

/** Once nothing has been loaded for a while and nothing says that it is being worked out. */
export async function settled(page) {
  const begin = Date.now();
  for (let quietSince = begin; Date.now() - quietSince < QUIET;) {
    await page.waitForTimeout(40);
    const working = await page.locator('.notice[role=status]').count();
    if (page.asking > 0 || working > 0) quietSince = Date.now();
    quietSince = Math.max(quietSince, page.latestAnswer);
    if (Date.now() - begin > LONGEST) throw new Error(`${page.url()} is not at rest after ${LONGEST} ms`);
  }
}

export async function keepPicture(page, name) {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: `${PICTURES}${name}.png` });
}

/** Different colours in a canvas: 1 is a blank one. */
export function coloursIn(page, selector) {
  return page
    .locator(selector)
    .first()
    .evaluate((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });
}
