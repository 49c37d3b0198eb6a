// Sorting of table rows and their text form (CSV), as pure functions. A column has one value per row, a
// number or a text, that it is sorted and exported by; how it looks is the column's own business.

export type CellValue = string | number | null;

export interface ValueColumn<R> {
  key: string;
  title: string;
  value: (row: R) => CellValue;
}

export interface Order {
  column: string;
  direction: 'asc' | 'desc';
}

/** Stable; empty values come last in either direction. */
export function orderedRows<R>(
  rows: readonly R[],
  columns: readonly ValueColumn<R>[],
  order: Order | null,
): readonly R[] {
  const column = order && columns.find((candidate) => candidate.key === order.column);
  if (!order || !column) return rows;
  const sign = order.direction === 'asc' ? 1 : -1;
  return rows
    .map((row, index) => ({ row, index, value: column.value(row) }))
    .sort((one, other) => {
      if (one.value === null || other.value === null) {
        return (one.value === null ? 1 : 0) - (other.value === null ? 1 : 0) || one.index - other.index;
      }
      return sign * compareValues(one.value, other.value) || one.index - other.index;
    })
    .map(({ row }) => row);
}

function compareValues(one: string | number, other: string | number): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one).localeCompare(String(other), undefined, { numeric: true });
}

/** As RFC 4180 has it. Texts that spreadsheets would take for formulas are marked as texts. */
export function csvOf<R>(rows: readonly R[], columns: readonly ValueColumn<R>[]): string {
  const lines = [columns.map((column) => csvCell(column.title)).join(',')];
  for (const row of rows) {
    lines.push(columns.map((column) => csvCell(column.value(row))).join(','));
  }
  return `${lines.join('\r\n')}\r\n`;
}

function csvCell(value: CellValue): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
