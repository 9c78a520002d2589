// Metadata `max`: the smaller sets have lengths only, and would accept an internal 5551234 as a valid number.
import {
  getCountryCallingCode,
  getExampleNumber,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import examples from 'libphonenumber-js/mobile/examples';
import { digitsOf } from '@offhook/contract/search.ts';

/** Longest text that is parsed: fifteen digits, an international prefix and the separators that people write. */
const MAX_LENGTH = 32;
/** A number with fewer digits and without a plus or `00` is internal or the short code of a service. */
const MIN_NATIONAL_DIGITS = 7;

/** True for an ISO 3166 code of two capital letters whose numbers can be parsed. */
export const isCountry = (text: string): boolean => isSupportedCountry(text);

/**
 * `+4930…` of a number as it was received or dialled; null for one that is internal, unreadable, too long or unassigned
 * in the plan of its country. `country`: the country of national numbers, `''` if only numbers with a plus or `00` are
 * read.
 */
export function toE164(number: string, country: string): string | null {
  if (number.length > MAX_LENGTH) return null;
  const digits = digitsOf(number);
  if (digits === null) return null;
  return (
    (digits.startsWith('+') || digits.length >= MIN_NATIONAL_DIGITS ? parse(digits, country) : null) ??
    (digits.startsWith('00') ? parse(`+${digits.slice(2)}`, '') : null)
  );
}
function parse(digits: string, country: string): string | null {
  const found = parsePhoneNumberFromString(digits, {
    ...(isSupportedCountry(country) ? { defaultCountry: country } : {}),
    extract: false,
  });
  return found?.isValid() ? found.number : null;
}

/** Limit of cached results; parsing one number takes as long as publishing a short call. */
const REMEMBERED = 20_000;
/** `toE164` of one country. */
export function e164In(country: string): (number: string) => string | null {
  const known = new Map<string, string | null>();
  return (number) => {
    let found = known.get(number);
    if (found !== undefined) return found;
    found = toE164(number, country);
    if (number.length > MAX_LENGTH) return found;
    if (known.size >= REMEMBERED) known.clear();
    known.set(number, found);
    return found;
  };
}
/** Country code and national number of a number in E.164, both as digits; null for any other text. */
export function nationalOf(e164: string): { readonly code: string; readonly national: string } | null {
  const found = parsePhoneNumberFromString(e164);
  return found === undefined ? null : { code: found.countryCallingCode, national: found.nationalNumber };
}
/** Spellings in which an E.164 number arrives: itself, and for a number of `country` its national form. */
export function spellingsOf(e164: string, country: string): readonly string[] {
  const isHome = isSupportedCountry(country) && e164.startsWith(`+${getCountryCallingCode(country)}`);
  const national = isHome ? nationalForm(e164) : null;
  return national === null ? [e164] : [e164, national];
}
/** A number in E.164 as its own country dials it, digits only: `030901820`; null for any other text. */
export const nationalForm = (e164: string): string | null =>
  parsePhoneNumberFromString(e164)
    ?.formatNational()
    .replaceAll(/[^0-9]/g, '') ?? null;

/** Digits that a country dials before its national numbers: `0` in Germany, none in Italy; null for no country. */
function trunkPrefix(country: string): string | null {
  if (!isSupportedCountry(country)) return null;
  const example = getExampleNumber(country, examples);
  if (example === undefined) return null;
  const dialled = example.formatNational().replaceAll(/[^0-9]/g, '');
  return dialled.endsWith(example.nationalNumber) ? dialled.slice(0, -example.nationalNumber.length) : '';
}
/** A prefix of numbers in E.164, from one with a plus, `00`, or the trunk prefix of `country`; null for any other. */
export function prefixOf(digits: string, country: string): string | null {
  const national = trunkPrefix(country);
  const plain = digits.startsWith('00')
    ? `+${digits.slice(2)}`
    : national && digits.startsWith(national) && isSupportedCountry(country)
      ? `+${getCountryCallingCode(country)}${digits.slice(national.length)}`
      : digits;
  return /^\+[1-9][0-9]{0,14}$/.test(plain) ? plain : null;
}
/** Spellings in which numbers with this E.164 prefix arrive: with a plus, and for `country` in national form. */
export function prefixSpellings(prefix: string, country: string): readonly string[] {
  const national = trunkPrefix(country);
  if (national === null || !isSupportedCountry(country)) return [prefix];
  const sign = `+${getCountryCallingCode(country)}`;
  const rest = prefix.startsWith(sign) ? prefix.slice(sign.length) : '';
  return rest === '' ? [prefix] : [prefix, national + rest];
}
