// Holds the build to its promises: at most 1 MB gzipped, nothing inlined in the page, nothing fetched from
// elsewhere. Run after every build; exits with 1 and says what is wrong.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const LIMIT = 1_000_000;
const dist = new URL('../dist/', import.meta.url).pathname;
const files = readdirSync(dist, { recursive: true })
  .map(String)
  .filter((name) => statSync(join(dist, name)).isFile());
const problems = [];
let total = 0;
for (const name of files) {
  const bytes = readFileSync(join(dist, name));
  const zipped = gzipSync(bytes, { level: 9 }).length;
  // The report is the application a second time, for `slowpath report`; browsers never load both.
  if (!name.startsWith('report/')) total += zipped;
  console.log(`${String(zipped).padStart(8)}  ${name}`);
  const text = bytes.toString('utf8');
  if (name.endsWith('.html')) {
    if (/<script(?![^>]*\ssrc=)/.test(text)) problems.push(`${name} has an inline script`);
    if (/<style|\sstyle=/.test(text)) problems.push(`${name} has an inline style`);
    if (/(src|href)="(https?:)?\/\//.test(text)) problems.push(`${name} loads from another site`);
  }
  if (name === 'report/report.js' && /<\/script/i.test(text)) {
    problems.push(`${name} cannot be put into a page: it contains </script`);
  }
  if (name.endsWith('.css') && /url\(|@import/.test(text)) problems.push(`${name} loads something`);
}
console.log(`${String(total).padStart(8)}  bytes in all, gzipped; the limit is ${LIMIT}`);
if (total > LIMIT) problems.push(`the bundle has ${total} bytes gzipped, more than ${LIMIT}`);
for (const problem of problems) console.error(`error: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);
