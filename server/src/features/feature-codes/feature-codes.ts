import type { FeatureCode } from '../../ports/site.ts';
import { login } from './codes/login.ts';
import { logout } from './codes/logout.ts';
import {
  doNotDisturb,
  doNotDisturbOff,
  forward,
  forwardBusy,
  forwardBusyOff,
  forwardNoAnswer,
  forwardNoAnswerOff,
  forwardOff,
} from './codes/own-calls.ts';
import { pause } from './codes/pause.ts';
import { pickupExtension, pickupGroup } from './codes/pickup.ts';
import { unpause } from './codes/unpause.ts';

/** Every code there is. The dialplan, the table of docs/feature-codes.md and the console's list follow from it. */
export const FEATURE_CODES: readonly FeatureCode[] = [
  pause,
  unpause,
  login,
  logout,
  pickupGroup,
  pickupExtension,
  doNotDisturb,
  doNotDisturbOff,
  forward,
  forwardOff,
  forwardBusy,
  forwardBusyOff,
  forwardNoAnswer,
  forwardNoAnswerOff,
];

/** How a pattern is written for people: `_*22ZX` is `*22<n>`. */
const dialledAs = (pattern: string): string =>
  pattern.startsWith('_') ? pattern.slice(1).replace(/[XZN].*/s, '…') : pattern;

/** The body of docs/feature-codes.md: a Markdown table with one row for each code. */
export function featureCodesTable(): string {
  const rows = FEATURE_CODES.map((code) => {
    const keys = [...new Set(code.patterns.map(dialledAs))].map((p) => `\`${p}\``).join(', ');
    return `| ${keys} | ${code.title} | ${code.about} | \`${code.id}\` |`;
  });
  return ['| Dial | Name | What it does | Id |', '|---|---|---|---|', ...rows, ''].join('\n');
}
