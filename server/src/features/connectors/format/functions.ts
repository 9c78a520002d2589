import { zoneName, zoneOffset } from '../../../core/zone.ts';

/** A function of the expression language beside those of CEL. */
interface OwnFunction {
  readonly signature: string;
  readonly run: (...args: never[]) => unknown;
  readonly about: string;
}
const two = (value: bigint): string => value.toString().padStart(2, '0');
const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const SOSL = /[?&|!{}[\]()^~*:\\"'+-]/g;

export const FUNCTIONS: readonly OwnFunction[] = [
  {
    signature: 'digits(string): string',
    run: (text: string) => text.replaceAll(/[^0-9]/g, ''),
    about: 'Only the digits: `+49 30 90` becomes `493090`.',
  },
  {
    signature: 'hhmm(int): string',
    run: (seconds: bigint) => `${two(seconds / 3_600n)}:${two((seconds / 60n) % 60n)}`,
    about: 'Seconds as hours and minutes: `00:02`.',
  },
  {
    signature: 'ms(string): int',
    run: (moment: string) => BigInt(Date.parse(moment)),
    about: 'Milliseconds since 1970 of a moment such as `call.started_at`.',
  },
  {
    signature: 'iso(int): string',
    run: (ms: bigint) => new Date(Number(ms)).toISOString(),
    about: 'The moment so many milliseconds after 1970: `2026-11-23T09:00:00.000Z`.',
  },
  {
    signature: 'local(string, string): string',
    run: (moment: string, zone: string) => {
      const ms = Date.parse(moment);
      const shown = ms + zoneOffset(zoneName(zone) ?? zone)(ms);
      return new Date(shown).toISOString().slice(0, 19).replace('T', ' ');
    },
    about: 'What the clocks of an IANA time zone show at a moment: `2026-11-23 10:00:00`.',
  },
  {
    signature: 'json(dyn): string',
    run: (value: unknown) => JSON.stringify(typeof value === 'bigint' ? Number(value) : value),
    about: 'A value as JSON text, for systems that take JSON inside a parameter.',
  },
  {
    signature: 'base64(string): string',
    run: (text: string) => Buffer.from(text).toString('base64'),
    about: 'Text in Base64, for headers of a sign-in.',
  },
  {
    signature: 'html(string): string',
    run: (text: string) => text.replaceAll(/[&<>"']/g, (sign) => HTML[sign]!),
    about: 'Text inside HTML or XML.',
  },
  {
    signature: 'odata(string): string',
    run: (text: string) => text.replaceAll("'", "''"),
    about: "Text between the single quotes of an OData filter, `'` doubled.",
  },
  {
    signature: 'sosl(string): string',
    run: (text: string) => text.replaceAll(SOSL, (sign) => `\\${sign}`),
    about: 'Text inside a SOSL or SOQL query, its signs escaped.',
  },
  {
    signature: 'like(string): string',
    run: (text: string) => text.replaceAll(/[%_\\]/g, (sign) => `\\${sign}`),
    about: 'Text inside a LIKE pattern, its `%` and `_` escaped.',
  },
];
