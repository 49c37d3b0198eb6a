// The view of transfers: on the made-up recording, and, with SLOWPATH_SERVER, on what `slowpath serve` shows of a report of
// the agent for Java and spans of the same run (tests/fixtures/transfers-on-services).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { keepPicture, noBrowser, realServer, settled, startBrowser } from './browser.mjs';

const onlyMock = realServer ? 'for the made-up recording' : false;
const hasReports =
  realServer && (await (await fetch(`${realServer}/api/recording`)).json()).transfer_reports > 0;
const onlyReports = hasReports ? false : 'for a server with reports of transfers';

describe('transfers', { skip: noBrowser }, () => {
  let browser;
  before(async () => {
    browser = await startBrowser();
  });
  after(() => browser?.close());

  test(
    'one is chosen with the keyboard, says what to change, and leads to its path',
    { skip: onlyMock },
    async () => {
      const page = await browser.open('#/transfers');
      const list = page.getByRole('grid', { name: 'Transfers' });
      const detail = page.getByRole('region', { name: 'The selected transfer' });
      assert.match(await detail.locator('.verdict').innerText(), /^Change: 4 of 6 fields are never read/);
      await page.getByText('1 234 objects were not watched: no debug register was free').waitFor();
      await list.focus();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      await page.waitForURL(/transfers\?transfer=3/);
      await detail.getByText(/3 censored: they outlived their requests, .* read unseen; 5 lost/).waitFor();
      await detail.getByText(/None: several paths and several places/).waitFor();
      const use = detail.getByRole('img', { name: /^used 0 % \(0 % to 1.8 %\), unused 100 %$/ });
      assert.equal(await use.count(), 2);
      const save = list.locator('..').getByRole('button', { name: 'Save CSV' });
      const [download] = await Promise.all([page.waitForEvent('download'), save.click()]);
      const csv = (await readFile(await download.path())).toString();
      assert.match(csv, /^#,Class,Endpoint,[^]*\r\n1,shop.planner.Order,GET http/);
      await list.focus();
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('ArrowUp');
      await detail.getByRole('link', { name: /^Rank \d+$/ }).click();
      await page.waitForURL(/services\?.*context=/);
      const chosen = page.getByRole('grid', { name: 'Calling contexts' }).locator('.is-selected');
      assert.match(await chosen.innerText(), /^1\s+load order/);
      assert.deepEqual(page.complaints, []);
    },
  );

  test(
    'a real report says where the most expensive path asks for what it never reads',
    { skip: onlyReports },
    async () => {
      const page = await browser.open('#/transfers');
      const list = page.getByRole('grid', { name: 'Transfers' });
      const detail = page.getByRole('region', { name: 'The selected transfer' });
      await settled(page);
      await keepPicture(page, 'transfers-of-a-service');
      assert.equal(await list.getAttribute('aria-rowcount'), '12');
      assert.match(await detail.locator('.verdict').innerText(), /^Change: only destination is read/);
      await detail.getByText(/shop.TicketClient.ticket/).waitFor();
      const fields = detail.getByRole('grid', { name: 'Fields' });
      assert.equal(await fields.getByRole('img', { name: /^used 100 % / }).count(), 1);
      assert.equal(await fields.getByRole('img', { name: /^used 0 % .*, unused 100 %$/ }).count(), 11);
      const told = await detail.getByText(/of all requests' time/).innerText();
      await detail.getByRole('link', { name: /^Rank \d+$/ }).click();
      const chosen = page.getByRole('grid', { name: 'Calling contexts' }).locator('.is-selected');
      assert.ok(told.startsWith(`Rank ${(await chosen.innerText()).split(/\s/)[0]}:`), told);
      assert.deepEqual(page.complaints, []);
    },
  );
});
