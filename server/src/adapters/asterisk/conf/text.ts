/**
 * The one place where a value becomes text of a configuration file. Everything a file cannot carry is refused with
 * `invalid_request`, never stripped or escaped: an escape that one reader of Asterisk honours is kept literally by another.
 */
import { LANGUAGE } from '@offhook/contract/config-fields.ts';
import { ServiceError } from '../../../core/errors.ts';

declare const checked: unique symbol;
/** Text known to be harmless in a configuration file; only this file makes it. */
export type ConfText = string & { readonly [checked]: true };

const refuse = (what: string, must: string): never => {
  throw new ServiceError('invalid_request', `${what} ${must}`);
};
/** Bytes of one line that Asterisk reads at most are 8,192; a line here is one key and one value. */
const MAX_BYTES = 1000;

/** A rule for one kind of value: the accepted characters, and the text of the refusal. */
const rule =
  (pattern: RegExp, must: string, bytes = MAX_BYTES) =>
  (value: string, what: string): ConfText => {
    // Types end at the edge of the process: a row of the database can hold anything.
    if (typeof value !== 'string' || !pattern.test(value) || Buffer.byteLength(value) > bytes) {
      return refuse(what, must);
    }
    return value as ConfText;
  };

/** A number that people dial: an extension, queue, service or parking number. */
export const dialled = rule(/^[1-9][0-9]{1,9}$/, 'must be 2 to 10 digits, the first not 0');
/** Name of an endpoint, user or object. */
export const objectName = rule(
  /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$/,
  'must be 1 to 64 of A-Z a-z 0-9 _ -',
);
/** A single key. */
export const dialledKey = rule(/^[0-9*#]$/, 'must be one key');
/** A sound of the engine's own folder, or of one below it. */
export const soundName = rule(
  /^[a-z0-9][a-z0-9_-]{0,63}(?:\/[a-z0-9][a-z0-9_-]{0,63}){0,2}$/,
  'must be the name of a sound',
);
/** Id of an uploaded sound. */
export const soundId = rule(/^[0-9a-f]{64}$/, 'must be the id of a sound');
/** Language of prompts. */
export const language = rule(LANGUAGE, 'must be a language such as en, fr or pt_BR');
/** A folder whose path can be data of a dialplan step, where `,` `&` and brackets separate. */
export const soundFolder = rule(
  /^\/(?:[\p{L}\p{M}\p{N}._+@=~-][\p{L}\p{M}\p{N} ._+@=~-]*\/)*[\p{L}\p{M}\p{N}._+@=~-]+$/u,
  'must be an absolute path of letters, digits, blanks and . _ + @ = ~ - where sounds are to be played from it',
);
/** Queue name, pause reason, pickup group: kept by the engine's own store without any escaping, so nothing but these. */
export const slug = rule(/^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/, 'must be 1 to 64 of a-z 0-9 _ -');
/**
 * A person's name as phones show it, with letters of any script and the two joiners some scripts write with; spaces only
 * inside and singly, because the reader of the file drops the others.
 */
export const displayName = rule(
  /^(?=.{1,64}$)[\p{L}\p{N}.'’()&/+_-][\p{L}\p{M}\p{N}\p{Join_Control}.'’()&/+_-]*(?: [\p{L}\p{M}\p{N}\p{Join_Control}.'’()&/+_-]+)*$/u,
  "must be 1 to 64 letters, digits, single spaces or . ' ( ) & / + _ -, and have at most 79 bytes in UTF-8",
  // The engine's own buffer: it would cut a longer one in the middle of a letter.
  79,
);
/** A number outside, or the beginning of one. */
export const outside = rule(
  /^(?:\+?[0-9]{1,32}|\+)$/,
  'must be 1 to 32 digits, with or without a + in front',
);
/** A dial pattern of numbers outside, without the `_` in front; one that nearly every number matches is none. */
export const outsidePattern = rule(
  /^(?=.*[0-9+]|[XZN]{5,32}$)\+?[0-9XZN]{0,32}[.!]?$/,
  'must be digits and X, Z, N with . or ! at the end, at least one digit or + among them or 5 of X, Z, N alone',
);
/** Our name at another exchange, chosen there. */
export const loginName = rule(/^[A-Za-z0-9+._-]{1,64}$/, 'must be 1 to 64 of A-Z a-z 0-9 + . _ -');
/** A secret chosen elsewhere. The value is never part of the refusal. */
export const foreignSecret = rule(
  /^[!-:<-[\]-~]{1,128}$/,
  'must be 1 to 128 printable characters other than ; \\',
);
/** SIP and AMI secrets. The value is never part of the refusal. */
export const secret = rule(/^[A-Za-z0-9_-]{22,128}$/, 'must be 22 to 128 of A-Z a-z 0-9 _ -');
export const pin = rule(/^[0-9]{4,12}$/, 'must be 4 to 12 digits');
/** An absolute path. */
export const filePath = rule(
  /^\/(?:[^\p{C}\p{Zl}\p{Zp};"\\$`|<>]*[^\p{C}\p{Z};"\\$`|<>])?$/u,
  'must be an absolute path without control characters, ; " \\ $ ` | < > or a blank at its end',
);
export const host = rule(
  /^(?=.{1,253}$)(?:[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)$/,
  'must be a host name or address',
);
/** A network. */
export const cidr = rule(
  /^(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*)\/[0-9]{1,3}$/,
  'must be a network such as 192.168.0.0/16',
);
/** A /24 of IPv4 or a /64 of IPv6. */
export const network = rule(
  /^(?:(?:[0-9]{1,3}\.){3}0\/24|[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){3}::\/64)$/,
  'must be a network such as 203.0.113.0/24 or 2001:db8:0:1::/64',
);
export const timeZone = rule(
  /^[A-Za-z0-9_+-]+(?:\/[A-Za-z0-9_+-]+){0,2}$/,
  'must be a zone such as Europe/Istanbul',
  64,
);
/** Step of a feature code or service: written in this source, so a refusal is a defect of ours. */
export const application = rule(/^[A-Z][A-Za-z0-9]{1,31}$/, 'must be the name of an application');
export const label = rule(/^[a-z][a-z0-9_-]{0,31}$/, 'must be 1 to 32 of a-z 0-9 _ -');
export const applicationData = rule(
  /^(?![\s(])(?:[^\p{C}\p{Zl}\p{Zp};\\\n]*[^\p{C}\p{Z};\\\n])?$/u,
  'must be one line without ; or \\',
);
/** A dialplan pattern: an exact number or code, or `_` and a pattern of it. */
export const pattern = rule(
  /^(?:[0-9*#]{1,20}|_[0-9*#XZN.]{1,30})$/,
  'must be a number, a code or a pattern',
);

/** A whole number in its range. */
export function whole(value: number, what: string, min: number, max: number): ConfText {
  if (!Number.isInteger(value) || value < min || value > max)
    refuse(what, `must be a whole number from ${min} to ${max}`);
  return String(value) as ConfText;
}
/** A time of a day as `HHMM`, so that it compares as a number; 2400 is its end. */
export function clock(value: string, what: string): ConfText {
  if (!/^(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00)$/.test(value))
    refuse(what, 'must be a time such as 08:30');
  return value.replace(':', '') as ConfText;
}
/** One word of a list. */
export function word<T extends string>(value: T, what: string, words: readonly T[]): ConfText {
  if (!words.includes(value)) refuse(what, `must be one of ${words.join(', ')}`);
  return value as string as ConfText;
}

/** An address as part of a regular expression. */
export const literal = (address: ConfText): ConfText => address.replaceAll('.', '[.]') as ConfText;

/** Configuration text: the fixed parts stand in this source, every value in it is checked text. */
export const conf = (fixed: TemplateStringsArray, ...values: readonly ConfText[]): ConfText => {
  // By hand: a site has thousands of these, and String.raw takes most of the time to render one.
  const [first = '', ...parts] = fixed;
  let text = first.startsWith('\n') ? first.slice(1) : first;
  for (const [i, part] of parts.entries()) text += values[i]! + part;
  return text as ConfText;
};
/** Checked text joined; joining cannot make it unsafe because no separator here is more than layout. */
export const joined = (parts: readonly ConfText[], separator: '\n' | '' | '&' | ',' | '-' | '|'): ConfText =>
  parts.join(separator) as ConfText;
