// Remakes the pictures of the guide: opens the application on the recording `cpu-cgroup` in headless Chromium.
// Not a test: web/tests does that.
//     node docs/guide/pictures.mjs ADDRESS      (of `slowpath serve …/cpu-cgroup`)
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const { chromium } = createRequire(new URL('../../web/', import.meta.url))('playwright-core');
const [address] = process.argv.slice(2);
const pictures = {
  overview: '#/overview',
  requests: '#/requests?align=clock&range=4000000000-5600000000&only=range&sort=begin&order=asc',
  threads: '#/threads?serving=yes',
  periods: '#/threads?serving=yes&range=12000000000-12450000000&colour=requests&arrows=no',
  stopped: '#/threads?serving=yes&range=12190000000-12320000000',
  summary: '#/requests?compare=bands&operation=srv-worker-0',
};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 1200, height: 640 }, colorScheme: 'light' });
for (const [name, place] of Object.entries(pictures)) {
  const page = await context.newPage();
  await page.goto(`${address}/${place}`);
  await page.waitForLoadState('networkidle');
  await page.waitForTimeout(1500);
  await page.screenshot({ path: fileURLToPath(new URL(`pictures/${name}.png`, import.meta.url)) });
  await page.close();
}
await browser.close();
