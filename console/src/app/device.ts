/** Browser and system, which distinguish devices; nothing else about the browser leaves the page. */
const BROWSERS: readonly (readonly [string, RegExp])[] = [
  // The user agent of each browser also contains names that follow in this list.
  ['Edge', /Edg(?:A|iOS)?\/(\d+)/],
  ['Opera', /OPR\/(\d+)/],
  ['Firefox', /(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /Version\/(\d+)/],
];
const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ['Windows', /Windows/],
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['macOS', /Mac OS X/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux/],
];
/** This browser as the list of devices names it. */
export function thisDevice(): { readonly device_name: string; readonly platform: string } {
  const { browser, system } = deviceOf(navigator.userAgent);
  return { device_name: `Console, ${browser}`, platform: system ?? 'web' };
}
/** e.g. `Firefox 145` on `Linux`; the system is null where it is not known. */
export function deviceOf(userAgent: string): { readonly browser: string; readonly system: string | null } {
  const version = (pattern: RegExp): string | undefined => pattern.exec(userAgent)?.[1];
  const known = BROWSERS.find(([, pattern]) => version(pattern) !== undefined);
  return {
    browser: known === undefined ? 'Browser' : `${known[0]} ${version(known[1])}`,
    system: SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0] ?? null,
  };
}
