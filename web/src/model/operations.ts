// What an operation is called. Spans that were only seen as events have no names: these requests go by the
// name of the thread that served them, for the server's filters as well as for people.

interface Named {
  service: string;
  operation: string;
  comm: string;
}

export function operationName({ operation, comm }: Named): string {
  return operation || comm;
}

export function operationTitle(named: Named): string {
  const name = operationName(named) || 'without a name';
  return named.service ? `${named.service} · ${name}` : name;
}

/** What the server's lists are narrowed by to one operation. */
export function operationFilter(named: Named): { service: string; operation: string } {
  return { service: named.service, operation: operationName(named) };
}
