// Tables: order is stable and puts empty values last; CSV survives commas, quotes and spreadsheets.
import { expect, test } from 'vitest';
import { csvOf, orderedRows, type ValueColumn } from './table-rows';

interface Row {
  name: string;
  size: number | null;
}

const columns: ValueColumn<Row>[] = [
  { key: 'name', title: 'Name', value: (row) => row.name },
  { key: 'size', title: 'Size, bytes', value: (row) => row.size },
];
const rows: Row[] = [
  { name: 'cpu10', size: 3 },
  { name: 'cpu9', size: null },
  { name: 'CPU9', size: 3 },
  { name: 'a', size: 20 },
];
const names = (order: Parameters<typeof orderedRows>[2]) =>
  orderedRows(rows, columns, order).map((row) => row.name);

test('numbers by size, texts as people count', () => {
  expect(names({ column: 'size', direction: 'desc' })).toEqual(['a', 'cpu10', 'CPU9', 'cpu9']);
  expect(names({ column: 'size', direction: 'asc' })).toEqual(['cpu10', 'CPU9', 'a', 'cpu9']);
  expect(names({ column: 'name', direction: 'asc' }).at(-1)).toBe('cpu10');
  expect(names(null)).toEqual(rows.map((row) => row.name));
});

test('CSV', () => {
  const text = csvOf(
    [
      { name: 'a "b", c', size: 1 },
      { name: '=cmd()', size: null },
    ],
    columns,
  );
  expect(text).toBe('Name,"Size, bytes"\r\n"a ""b"", c",1\r\n\'=cmd(),\r\n');
});
