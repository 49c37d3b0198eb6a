// The selected configuration, which all parts of the view share.

export interface Choice {
  /** Its place in the results' configurations. */
  place: number;
  /** Whether somebody selected it. */
  isChosen: boolean;
  choose: (place: number) => void;
}
