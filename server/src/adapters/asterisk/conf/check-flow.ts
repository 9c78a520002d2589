/**
 * Checks of ring groups, menus and other destinations that need the renderer: reserved names of the engine, and numbers that
 * cannot be distinguished.
 */
import { ServiceError } from '../../../core/errors.ts';
import type { Site } from '../../../ports/site.ts';
import { patternsMeet } from '../../../routing/dial-pattern.ts';
import { dialledPatterns } from '../../../routing/plan.ts';

const refuse = (detail: string): never => {
  throw new ServiceError('invalid_request', detail);
};
/** Sections of queues.conf that are no queues. */
const NO_QUEUES = new Set(['general', 'waiting-room']);

function unique(objects: readonly { readonly name: string }[], what: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { name } of objects) {
    if (names.has(name)) refuse(`two ${what} are named ${name}`);
    names.add(name);
  }
  return names;
}

function checkCodes({ feature_codes, services }: Site): void {
  const all = [
    ...feature_codes.flatMap((code) =>
      dialledPatterns(code).map((pattern) => ({
        of: code.id,
        what: `feature code ${code.id}`,
        pattern,
        fits: pattern.replace(/^_/, ''),
      })),
    ),
    ...services
      .filter(({ number }) => /^[*#]/.test(number))
      .map(({ number, title }) => ({ of: null, what: title, pattern: number, fits: number })),
  ];
  all.forEach((a, i) => {
    for (const b of all.slice(i + 1))
      if ((a.of === null || a.of !== b.of) && patternsMeet(a.fits, b.fits))
        refuse(`${a.pattern} (${a.what}) and ${b.pattern} (${b.what}) cannot be distinguished`);
  });
}

/** `take` refuses a number that another object has. */
export function checkFlow(site: Site, take: (number: string, what: string) => void): void {
  for (const name of unique(site.queues, 'queues'))
    if (NO_QUEUES.has(name)) refuse(`a queue cannot be named ${name}`);
  const music = unique(site.music_classes, 'music classes');
  const plays = (name: string | null, what: string): void => {
    if (name !== null && !music.has(name)) refuse(`${what}: there is no music class ${JSON.stringify(name)}`);
  };
  for (const [objects, what] of [
    [site.ring_groups, 'ring groups'],
    [site.menus, 'menus'],
    [site.time_conditions, 'time conditions'],
    [site.conferences, 'conferences'],
    [site.parking_lots, 'parking lots'],
    [site.holidays, 'holidays'],
    [site.prompts, 'prompts'],
  ] as const)
    unique(objects, what);
  for (const q of site.queues) plays(q.music_class, `queue ${q.name}`);
  for (const lot of site.parking_lots) plays(lot.music_class, `parking lot ${lot.name}`);
  for (const { name, number } of site.ring_groups) take(number, `ring group ${name}`);
  for (const m of site.menus) {
    if (m.number !== null) take(m.number, `menu ${m.name}`);
    if (new Set(m.choices.map((c) => c.key)).size < m.choices.length)
      refuse(`menu ${m.name}: must have one destination for each key`);
  }
  for (const t of site.time_conditions) if (t.number !== null) take(t.number, `time condition ${t.name}`);
  for (const c of site.conferences) {
    take(c.number, `conference ${c.name}`);
    plays(c.music_class, `conference ${c.name}`);
    if (c.wait_for_leader && (c.leader_pin ?? null) === null)
      refuse(`conference ${c.name}: needs a leader_pin: without one nobody can be the leader`);
    if ((c.pin ?? null) !== null && c.pin === c.leader_pin)
      refuse(`conference ${c.name}: leader and others have the same PIN`);
  }
  for (const { number } of site.mailboxes) take(number, `mailbox ${number}`);
  checkCodes(site);
}
