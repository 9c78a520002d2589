import { ServiceError } from '../../../core/errors.ts';

/** The manager accepts no line of 1,024 bytes or more, its line end included, and no message of more than 128 headers. */
export const MAX_LINE_BYTES = 1023;
export const MAX_HEADERS = 128;

const KEY = /^[A-Za-z][A-Za-z0-9-]{0,63}$/;
const ACTION_ID = /^[A-Za-z0-9-]{1,64}$/;
// C0, DEL, C1 (including U+0085) and the two separators that some readers take for a line end.
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/** Headers of one action; a list repeats its header, undefined omits it. */
export type ActionFields = Readonly<Record<string, string | readonly string[] | undefined>>;

const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};

/**
 * One action as bytes of the wire, and the only place that builds them: a value the wire cannot carry safely is rejected here
 * (`invalid_request`), never cleaned, so the engine never receives half of it.
 */
export const encodeAction = (name: string, fields: ActionFields, actionId: string): Buffer => {
  let text = '';
  let headers = 0;
  const line = (key: string, value: string): void => {
    if (!KEY.test(key)) refuse('a header name is not valid');
    if (typeof value !== 'string') refuse(`${key} is not a text`);
    if (FORBIDDEN.test(value)) refuse(`${key} must not contain control characters`);
    if (!value.isWellFormed()) refuse(`${key} is not valid Unicode`);
    if (Buffer.byteLength(value) + key.length + 4 > MAX_LINE_BYTES) refuse(`${key} is too long`);
    if (++headers > MAX_HEADERS) refuse(`more than ${MAX_HEADERS} values`);
    text += `${key}: ${value}\r\n`;
  };
  if (!ACTION_ID.test(actionId)) refuse('the action id is not valid');
  line('Action', name);
  line('ActionID', actionId);
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (typeof value === 'string') line(key, value);
    else for (const one of value) line(key, one);
  }
  return Buffer.from(`${text}\r\n`, 'utf8');
};
