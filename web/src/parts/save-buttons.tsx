// The buttons that save what is shown: a picture as PNG or SVG, a table as CSV. How each is made, the caller
// says; elements that are on the page already (canvases, SVG) are made into files by save-element.ts.

/** What a click on each does; those that are not there have no button. */
export interface Savers {
  png?: () => void;
  svg?: () => void;
  csv?: () => void;
}

const FORMS = ['png', 'svg', 'csv'] as const;

interface SaveButtonsProps {
  savers: Savers;
  /** What is saved, for screen readers and tooltips where several things can be. */
  what?: string;
}

export function SaveButtons({ savers, what }: SaveButtonsProps) {
  return (
    <span className="save-buttons" role="group" aria-label={what ? `Save ${what}` : 'Save'}>
      {FORMS.map((form) => {
        const save = savers[form];
        return (
          save && (
            <button
              key={form}
              type="button"
              className="quiet-button"
              title={what ? `Save ${what} as ${form.toUpperCase()}` : undefined}
              onClick={save}
            >
              Save {form.toUpperCase()}
            </button>
          )
        );
      })}
    </span>
  );
}
