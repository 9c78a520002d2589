/** Values of a call for the placeholders of a CRM link; empty where unknown. */
export interface LinkValues {
  readonly number: string;
  readonly name: string;
  readonly conversation: string;
  readonly queue: string;
}
const PLACEHOLDER = /\{(number|name|conversation|queue)\}/g;
/** The address for this call; null where a page may not open it. */
export function crmLink(pattern: string | null, values: LinkValues): string | null {
  if (pattern === null) return null;
  const filled = pattern.replaceAll(PLACEHOLDER, (_, name: keyof LinkValues) =>
    // A caller's name may contain a lone surrogate, which no URL can encode.
    encodeURIComponent(values[name].toWellFormed()),
  );
  const url = URL.parse(filled);
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : null;
}
