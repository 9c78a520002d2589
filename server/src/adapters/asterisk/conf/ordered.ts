import type { Site } from '../../../ports/site.ts';

const plain = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byNumber = (a: string, b: string): number => a.length - b.length || plain(a, b);
const sorted = <T>(objects: readonly T[], key: (o: T) => string, compare = plain): readonly T[] =>
  objects.toSorted((a, b) => compare(key(a), key(b)));
const byName = <T extends { readonly name: string }>(objects: readonly T[]): readonly T[] =>
  sorted(objects, (o) => o.name);

/** The same site with its lists in a fixed order; lists whose order has a meaning keep it. */
export const ordered = (site: Site): Site => ({
  ...site,
  extensions: sorted(site.extensions, (e) => e.extension, byNumber),
  queues: sorted(site.queues, (q) => q.number, byNumber),
  services: sorted(site.services, (s) => s.number, byNumber),
  mailboxes: sorted(site.mailboxes, (m) => m.number, byNumber),
  ring_groups: byName(site.ring_groups),
  menus: byName(site.menus).map((m) => ({ ...m, choices: [...sorted(m.choices, (c) => c.key)] })),
  time_conditions: byName(site.time_conditions),
  holidays: byName(site.holidays),
  conferences: byName(site.conferences),
  parking_lots: byName(site.parking_lots),
  music_classes: byName(site.music_classes),
  prompts: byName(site.prompts),
  trunks: byName(site.trunks),
  call_limits: byName(site.call_limits),
});
