/** Addresses that the service itself uses, so that neither a trunk nor another engine can have them. */

/** Addresses from which the service connects for browsers, and addresses that mean all or none. */
const OWN_ADDRESS =
  /^(?:127\.0\.0\.1|0\.0\.0\.0|\[(?:::1?|::ffff:(?:7f00:1|0:0))\]|(?:.+\.)?localhost(?:\.localdomain)?)$/;
/** Recognises every spelling, such as `127.1`, `2130706433` and `0:0:0:0:0:0:0:1`, but does not resolve names. */
export function isOwnAddress(host: string): boolean {
  const url = `http://${host.includes(':') ? `[${host}]` : host}`;
  return URL.canParse(url) && OWN_ADDRESS.test(new URL(url).hostname);
}
