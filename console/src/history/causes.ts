/** Texts of Q.850 causes, the network's reasons for the end of a call. */
import { wordsOf } from '../app/words.ts';

const t = wordsOf('causes');
const KNOWN = [
  1, 3, 16, 17, 18, 19, 20, 21, 22, 26, 27, 28, 31, 34, 38, 41, 42, 50, 58, 88, 102, 127,
] as const;
/** e.g. `normal end (16)`. */
export function causeText(code: number): string {
  const known = KNOWN.find((one) => one === code);
  return known === undefined ? t('other', { code }) : `${t(`c${known}`)} (${code})`;
}
