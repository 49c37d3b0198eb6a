// Text of the server's with parts in `backticks`, which are commands, settings and names: shown as code.
// Plain text otherwise; no other markup is looked for.
export function Prose({ text }: { text: string }) {
  return (
    <>
      {text
        .split('`')
        .map((part, index) =>
          index % 2 === 1 ? <code key={index}>{part}</code> : <span key={index}>{part}</span>,
        )}
    </>
  );
}
