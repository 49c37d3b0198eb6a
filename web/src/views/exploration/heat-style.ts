// The colour of a share of a scale, and of text on it, as styles of an element.
// Which colour that is: draw/heat-colours.ts.
import { cssColour, type ThemeName } from '../../draw/colours';
import { heatColour, textOnHeat } from '../../draw/heat-colours';

export function heatStyle(theme: ThemeName, share: number): { background: string; color: string } {
  const colour = heatColour(theme, share);
  return { background: cssColour(colour), color: cssColour(textOnHeat(colour)) };
}
