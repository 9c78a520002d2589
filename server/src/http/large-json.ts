import { setImmediate as turnOfOthers } from 'node:timers/promises';
import { ServiceError } from '../core/errors.ts';
import { jsonCheck } from '../core/json-check.ts';

/** Characters parsed before the event loop runs other work: about 1 ms. */
const TURN = 64 * 1024;

/**
 * Parses a large JSON text without blocking other requests: checks it in pieces and parses each list of the outermost
 * object element by element. `parse` is the parser of small bodies, so both reject the same texts.
 */
export async function parseInTurns(text: string, parse: (part: string) => unknown): Promise<unknown> {
  const check = jsonCheck(text);
  let step = check.next();
  while (step.done !== true) {
    await turnOfOthers();
    step = check.next();
  }
  const lists = step.value;
  // The skeleton holds the number of each list in place of its elements.
  let skeleton = '';
  let at = 0;
  for (const [n, { from, to }] of lists.entries()) {
    skeleton += `${text.slice(at, from)}${n}`;
    at = to;
  }
  const whole = parse(skeleton + text.slice(at));
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) return whole;
  let parsed = 0;
  for (const place of Object.values(whole) as unknown[]) {
    if (!Array.isArray(place)) continue;
    const { from, to, commas } = lists[place.pop() as number]!;
    if (commas.length === 0 && isBlank(text, from, to)) continue;
    let start = from;
    for (const end of [...commas, to]) {
      if (isBlank(text, start, end)) throw new ServiceError('invalid_request', 'body: must be valid JSON');
      place.push(parse(text.slice(start, end)));
      parsed += end - start;
      start = end + 1;
      if (parsed < TURN) continue;
      parsed = 0;
      await turnOfOthers();
    }
  }
  return whole;
}
const isBlank = (text: string, from: number, to: number): boolean => text.slice(from, to).trim() === '';
