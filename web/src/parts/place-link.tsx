// A link to another place of the application. In a report, which holds only some of the answers, what leads
// nowhere is no link: its text stays, or nothing does where the text only makes sense as a link.
import type { ReactNode } from 'react';
import type { PlaceChange } from '../model/place';
import { addressOf } from '../model/place-store';
import { leadsSomewhere } from '../model/report';

interface PlaceLinkProps {
  to: PlaceChange;
  className?: string;
  title?: string;
  /** Not shown at all where it leads nowhere. */
  optional?: boolean;
  children: ReactNode;
}

export function PlaceLink({ to, className, title, optional = false, children }: PlaceLinkProps) {
  if (!leadsSomewhere(to)) return optional ? null : <span className={className}>{children}</span>;
  return (
    <a href={addressOf(to)} className={className} title={title}>
      {children}
    </a>
  );
}
