import fs from 'node:fs';

const DAY_MS = 86_400_000;
/** Days whose offset is remembered for each zone: the platform's lookup costs 3 µs. */
const MOST_DAYS = 20_000;
const zones = new Map<string, (ms: number) => number>();
/**
 * The name that the platform itself uses for a zone, or null for an unknown one. Common names are compared with its list: the
 * first use of a format of `Intl` opens the data of all languages, which takes 9 MB and 25 ms.
 */
export function zoneName(text: string): string | null {
  if (text === 'UTC' || text === 'Etc/UTC') return 'UTC';
  if (Intl.supportedValuesOf('timeZone').includes(text)) return text;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}
const ZONES = '/zoneinfo/';
/** The zone of this machine, in which `Date` shows its local time; found as the platform does, without `Intl` where it can be. */
export function machineZone(): string {
  let text = process.env['TZ'];
  if (text === undefined) {
    try {
      const file = fs.realpathSync('/etc/localtime');
      const at = file.indexOf(ZONES);
      if (at >= 0) text = file.slice(at + ZONES.length);
    } catch {
      // `Intl` finds the zone of such a machine.
    }
  }
  const known = text === undefined ? null : zoneName(text);
  return known ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}
/** The time that the clock of this machine shows, read as UTC. */
const shownHere = (ms: number): number => {
  const d = new Date(ms);
  return Date.UTC(d.getFullYear(), d.getMonth(), d.getDate(), d.getHours(), d.getMinutes(), d.getSeconds());
};
function shownIn(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  return (ms) => {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(ms)) part[type] = Number(value);
    const { year, month, day, hour, minute, second } = part;
    return Date.UTC(year!, month! - 1, day, hour, minute, second);
  };
}

/**
 * Milliseconds the clock of an IANA zone is ahead of UTC at `ms` since 1970, by the platform's zone data. `ms` plus the
 * result, read as UTC, is what the clock of the zone shows. Throws `RangeError` for an unknown zone.
 */
export function zoneOffset(zone: string): (ms: number) => number {
  const known = zones.get(zone);
  if (known !== undefined) return known;
  const shown = zone === machineZone() ? shownHere : shownIn(zone);
  const ask = (ms: number): number => shown(ms) - Math.floor(ms / 1000) * 1000;
  // Null for a UTC day in which the offset changes.
  const steady = new Map<number, number | null>();
  const offsetAt = (ms: number): number => {
    const day = Math.floor(ms / DAY_MS);
    let offset = steady.get(day);
    if (offset === undefined) {
      const first = ask(day * DAY_MS);
      offset = first === ask((day + 1) * DAY_MS) ? first : null;
      if (steady.size >= MOST_DAYS) steady.clear();
      steady.set(day, offset);
    }
    return offset ?? ask(ms);
  };
  zones.set(zone, offsetAt);
  return offsetAt;
}
