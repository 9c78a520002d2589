/** How steps, numbers and contexts are written. */
import { conf, joined } from './text.ts';
import type { ConfText } from './text.ts';

/** The steps of one number or pattern, numbered by the engine; a step is `app(data)` or `(label),app(data)`. */
export const exten = (number: ConfText, steps: readonly ConfText[]): ConfText =>
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
