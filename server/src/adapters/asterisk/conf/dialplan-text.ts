/** Text of steps, numbers and contexts. */
import { CAUSE } from '../../../routing/causes.ts';
import type { CauseName } from '../../../routing/causes.ts';
import { conf, joined, whole } from './text.ts';
import type { ConfText } from './text.ts';

/**
 * Characters allowed in a value, in the notation of FILTER. `--.` is the range of these two characters: a hyphen anywhere else
 * would begin a range of its own.
 */
const ALPHABETS = {
  /** Characters that a phone dials. */
  keys: conf`0-9*#+`,
  /** Ids and names of channels and endpoints. */
  name: conf`--.0-9A-Z_a-z`,
  /** Every visible character but `"` and `\\`, at which REGEX stops reading. */
  unquoted: conf`!#-[]-~`,
} as const;
export type Alphabet = keyof typeof ALPHABETS;
/**
 * True in an expression where `value` is made of this alphabet only. The lengths are compared because no other test is sound:
 * REGEX and FILTER stop reading at a `"` or `,` and lose a backslash, but nothing makes a value longer.
 */
export const madeOf = (value: ConfText, alphabet: Alphabet): ConfText =>
  conf`$[$\{LEN($\{FILTER(${ALPHABETS[alphabet]},${value})})} = $\{LEN(${value})}]`;
/** The value of a variable, and its first character. */
const valueOf = (variable: ConfText): ConfText => conf`$\{${variable}}`;
/** True in an expression where a variable holds digits, with or without a + in front. */
export const isNumber = (variable: ConfText): ConfText =>
  conf`$[$\{LEN($\{FILTER(0-9,${valueOf(variable)})})} > 0 & $\{LEN($\{FILTER(0-9,${valueOf(variable)})})} + $\{LEN($\{FILTER(+,$\{${variable}:0:1})})} = $\{LEN(${valueOf(variable)})}]`;

/** The number of a cause. */
export const cause = (name: CauseName): ConfText => whole(CAUSE[name], 'a cause', 1, 127);
export const hangUp = (name: CauseName): ConfText => conf`Hangup(${cause(name)})`;
const refused = conf`unfit`;
/** First step of a pattern that matches any character after its prefix. */
export const guard = (alphabet: Alphabet = 'keys'): ConfText =>
  conf`GotoIf(${madeOf(conf`$\{EXTEN}`, alphabet)}?:${refused})`;
/** Its last step. */
export const guarded = conf`(${refused}),${hangUp('no_number')}`;
/** True for a pattern that ends in `.` or `!`: these match letters, `&` and `,` as well as digits. */
const isOpen = (number: ConfText): boolean => /^_.*[.!]$/.test(number);

/**
 * The steps of one number or pattern, numbered by the engine; a step is `app(data)` or `(label),app(data)`. What was dialled
 * reaches no step before it is known to be made of `alphabet`, so every step may use `EXTEN` as it is.
 */
export const exten = (number: ConfText, steps: readonly ConfText[], alphabet: Alphabet = 'keys'): ConfText =>
  lines(number, isOpen(number) ? [guard(alphabet), ...steps, guarded] : steps);
const lines = (number: ConfText, steps: readonly ConfText[]): ConfText =>
  joined(
    steps.map((step, i) => {
      const text = step.startsWith('(') ? step : conf`,${step}`;
      return i === 0
        ? conf`exten => ${number},1${text}
`
        : conf` same => n${text}
`;
    }),
    '',
  );
export const context = (name: ConfText, parts: readonly ConfText[]): ConfText => conf`
[${name}]
${joined(parts, '')}`;
export const at = (mark: ConfText, step: ConfText): ConfText => conf`(${mark}),${step}`;
