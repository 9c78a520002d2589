/** What a link to another program can have of a call; empty where it is not known. */
export interface LinkValues {
  readonly number: string;
  readonly name: string;
  readonly conversation: string;
  readonly queue: string;
}
const PLACEHOLDER = /\{(number|name|conversation|queue)\}/g;
/** The address for this call, or null where there is none that a page may open. */
export function crmLink(pattern: string | null, values: LinkValues): string | null {
  if (pattern === null) return null;
  const filled = pattern.replaceAll(PLACEHOLDER, (_, name: keyof LinkValues) =>
    // Half a character, which a caller's name can hold, cannot be written into an address.
    encodeURIComponent(values[name].toWellFormed()),
  );
  const url = URL.parse(filled);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null;
}
