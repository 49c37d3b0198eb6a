// Every source file opens with 2 to 6 lines of comment that say what it is (tests: 1 to 6). Exits with 1 and names those
// that don't, and those that have grown beyond 500 lines.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = new URL('../', import.meta.url).pathname;
const problems = [];
for (const folder of ['src', 'tests', 'scripts']) {
  for (const name of readdirSync(join(root, folder), { recursive: true }).map(String)) {
    if (!/\.(ts|tsx|mjs|css)$/.test(name) || name.includes('.generated.')) continue;
    const path = join(folder, name);
    const lines = readFileSync(join(root, path), 'utf8').split('\n');
    const isComment = name.endsWith('.css')
      ? (_, index) => index <= lines.findIndex((line) => line.includes('*/')) && lines[0].startsWith('/*')
      : (line) => line.startsWith('//');
    let count = 0;
    while (count < lines.length && isComment(lines[count], count)) count += 1;
    const least = name.includes('.test.') ? 1 : 2;
    if (count < least || count > 6) {
      problems.push(`${path} opens with ${count} lines of comment instead of ${least} to 6`);
    }
    if (lines.length > 500 && !name.endsWith('.css')) problems.push(`${path} has ${lines.length} lines`);
  }
}
for (const problem of problems) console.error(`error: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);
