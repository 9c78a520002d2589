/** Where a call would go, and why, told from the same site that is rendered; the engine is not asked. Pure and bounded. */
import type { Destination } from '@offhook/contract/config-objects.ts';
import type { RouteTestEnd, RouteTestStep } from '@offhook/contract/config-route-test.ts';
import { dialMatcher } from '../../routing/dial-pattern.ts';
import { inboundOrder, inboundRoute, outboundFinder, outboundOrder } from '../../routing/routes.ts';
import { opening, siteMoment } from '../../routing/site-time.ts';
import { isRung } from '../../ports/engine.ts';
import type { ExtensionFeatures } from '../../ports/engine.ts';
import type { Site, SiteExtension } from '../../ports/site.ts';

export interface RouteQuestion {
  readonly number: string;
  readonly from: { readonly extension: string } | { readonly trunk: string; readonly caller: string };
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly zone: string;
  /** What people have set for their own calls, by extension. */
  readonly features: ReadonlyMap<string, ExtensionFeatures>;
}
export interface RouteAnswer {
  readonly steps: readonly RouteTestStep[];
  readonly ends: readonly RouteTestEnd[];
  readonly complete: boolean;
}
type ObjectName = RouteTestStep['object'];
interface Way {
  /** For what the call comes here; null on its way without a branch. */
  readonly when: string | null;
  /** Number that was called or key that was pressed, which a trunk is given. */
  readonly exten: string;
  /** Extension that is called from outside, where one is: who forwards, else who dials. */
  readonly by: string | null;
  readonly forwards: number;
  readonly seen: ReadonlySet<string>;
}
const MOST_STEPS = 200;
const MOST_FORWARDS = 5;
const HANG_UP = { normal: 16, busy: 17, congestion: 34, not_found: 1 } as const;
const object = (kind: string, key: string): ObjectName => ({ kind, key });
const list = (words: readonly string[]): string => words.join(', ') || 'nobody';

/** Throws nothing for a site that renders. O(objects). */
export function testRoute(site: Site, question: RouteQuestion): RouteAnswer {
  const steps: RouteTestStep[] = [];
  const ends: RouteTestEnd[] = [];
  let complete = true;
  const step = (of: ObjectName, rule: string, detail: string): void => {
    if (steps.length < MOST_STEPS) steps.push({ object: of, rule, detail });
    else complete = false;
  };
  const end = (
    way: Way,
    kind: RouteTestEnd['kind'],
    of: ObjectName,
    detail: string,
    more: Partial<Pick<RouteTestEnd, 'endpoints' | 'ways' | 'cause'>> = {},
  ): void => {
    if (ends.length >= MOST_STEPS) complete = false;
    else
      ends.push({ when: way.when, kind, object: of, detail, endpoints: [], ways: [], cause: null, ...more });
  };
  const refuse = (way: Way, of: ObjectName, cause: number, detail: string): void =>
    end(way, 'refused', of, `refused: ${detail}`, { cause });

  const moment = siteMoment(question.at, question.zone);
  const extensions = new Map(site.extensions.map((e) => [e.extension, e]));
  const trunks = new Map(site.trunks.map((t) => [t.name, t]));
  const outside = outboundFinder(outboundOrder(site.outbound_routes));
  const caller = 'trunk' in question.from ? question.from.caller : question.from.extension;
  const own = 'extension' in question.from ? question.from.extension : null;

  /** A branch is followed to where it leads, but not into branches of its own. */
  const branch = (way: Way, when: string, follow: (next: Way) => void): void => {
    if (way.when === null) follow({ ...way, when });
  };
  const enter = (way: Way, of: NonNullable<ObjectName>, follow: (next: Way) => void): void => {
    const name = `${of.kind} ${of.key}`;
    if (way.seen.has(name)) {
      step(of, 'circle', `${name} was passed already`);
      return refuse(way, of, 25, 'it is led in a circle');
    }
    follow({ ...way, seen: new Set([...way.seen, name]) });
  };

  function forward(e: SiteExtension, number: string, why: string, way: Way): boolean {
    if (number === '') return false;
    const of = object('extension', e.extension);
    const inside = ownTarget(number, true);
    const route = inside === null && e.forward_outside ? outside(number) : null;
    if (way.forwards >= MOST_FORWARDS || (inside === null && route === null)) {
      const because =
        way.forwards >= MOST_FORWARDS
          ? `${MOST_FORWARDS} forwards were followed already`
          : e.forward_outside
            ? 'it leads nowhere'
            : 'it is no number of the house, and forward_outside is off';
      step(of, why, `the forward to ${number} is not followed: ${because}`);
      return false;
    }
    step(of, why, `calls go to ${number}`);
    const next = { ...way, exten: number, forwards: way.forwards + 1, by: e.extension };
    if (inside !== null) inside(next);
    else sendOutside(number, next);
    return true;
  }
  function unanswered(e: SiteExtension, busy: boolean, way: Way): void {
    const of = object('extension', e.extension);
    const rule = busy ? 'forward_busy' : 'forward_no_answer';
    if (forward(e, question.features.get(e.extension)?.[rule] ?? '', rule, way)) return;
    if (e.voicemail) end(way, 'mailbox', of, `the mailbox of ${e.extension}`);
    else end(way, 'ends', of, busy ? 'busy' : 'nobody answers', { cause: busy ? 17 : 19 });
  }
  /** The devices of the chosen kinds; all of them where none is of those kinds. */
  function devicesOf({ extension, endpoints }: SiteExtension): string[] {
    const devices = question.features.get(extension)?.devices ?? 'all';
    const chosen = endpoints.filter((p) => isRung(devices, p.kind));
    return (chosen.length > 0 ? chosen : endpoints).map((p) => p.name);
  }
  function person(extension: string, way: Way): void {
    const e = extensions.get(extension);
    const of = object('extension', extension);
    if (e === undefined) {
      step(of, 'active', `${extension} is not active`);
      return end(way, 'nothing', of, 'nobody is there', { cause: 1 });
    }
    const set = question.features.get(extension);
    const always = set?.forward ?? '';
    if (forward(e, always, 'forward', way)) return;
    if (always !== '') return unanswered(e, false, way);
    if (set?.dnd === true) {
      step(of, 'dnd', `${extension} does not want calls`);
      return unanswered(e, true, way);
    }
    const endpoints = devicesOf(e);
    step(of, 'devices', `${list(endpoints)} ring`);
    end(way, 'rings', of, `rings ${list(endpoints)}`, { endpoints });
    branch(way, 'busy', (next) => unanswered(e, true, next));
    branch(way, 'nobody answers', (next) => unanswered(e, false, next));
  }
  function queue(name: string, way: Way): void {
    const q = site.queues.find((one) => one.name === name);
    const of = object('queue', name);
    if (q === undefined) return end(way, 'nothing', of, 'there is no such queue', { cause: 1 });
    step(of, 'number', `waits in queue ${name}`);
    end(way, 'queue', of, `queue ${name} with agents ${list(q.agents)}`);
    const { exit, otherwise } = q;
    if (exit !== null)
      branch(way, `key ${exit.key}`, (next) => destination(exit.to, { ...next, exten: exit.key }));
    if (otherwise !== null) branch(way, 'nobody takes it', (next) => destination(otherwise, next));
  }
  function group(name: string, way: Way): void {
    const g = site.ring_groups.find((one) => one.name === name);
    const of = object('ring_group', name);
    if (g === undefined) return end(way, 'nothing', of, 'there is no such ring group', { cause: 1 });
    enter(way, of!, (inside) => {
      const wanted = g.members.filter((m) => m !== own && question.features.get(m)?.dnd !== true);
      const members = wanted.flatMap((m) => extensions.get(m) ?? []);
      const endpoints = members.flatMap(devicesOf);
      const how = g.strategy === 'all' ? 'together' : 'one after another';
      step(of, 'members', `${list(members.map((e) => e.extension))} ring ${how}`);
      const { otherwise } = g;
      const after = (next: Way): void =>
        otherwise === null
          ? end(next, 'ends', of, 'nobody is there', { cause: 20 })
          : destination(otherwise, { ...next, exten: 's' });
      if (endpoints.length === 0) return after(inside);
      end(inside, 'rings', of, `rings ${list(endpoints)}`, { endpoints });
      if (otherwise !== null) branch(inside, 'nobody answers', after);
    });
  }
  function menu(name: string, way: Way): void {
    const m = site.menus.find((one) => one.name === name);
    const of = object('menu', name);
    if (m === undefined) return end(way, 'nothing', of, 'there is no such menu', { cause: 1 });
    enter(way, of!, (inside) => {
      step(of, 'choices', `${list(m.choices.map((c) => c.key))} can be pressed`);
      end(inside, 'menu', of, `menu ${name} asks for a key`);
      for (const { key, to } of m.choices)
        branch(inside, `key ${key}`, (next) => destination(to, { ...next, exten: key }));
      if (m.dial_extensions)
        branch(inside, 'an extension', (next) => end(next, 'rings', of, 'the extension that is dialled'));
      branch(inside, 'no key', (next) => destination(m.otherwise, { ...next, exten: 's' }));
    });
  }
  function timeCondition(name: string, way: Way): void {
    const t = site.time_conditions.find((one) => one.name === name);
    const of = object('time_condition', name);
    if (t === undefined) return end(way, 'nothing', of, 'there is no such time condition', { cause: 1 });
    enter(way, of!, (inside) => {
      const now = opening(t, (key) => site.holidays.find((h) => h.name === key), moment);
      const { weekday: _, clock, year, month, day } = moment;
      step(of, now.rule, `${now.is} at ${clock} on ${year}-${month}-${day}, ${question.zone}`);
      const to = { open: t.when_open, closed: t.when_closed, holiday: t.on_holiday ?? t.when_closed }[now.is];
      destination(to, { ...inside, exten: 's' });
    });
  }
  function overTrunk(to: Extract<Destination, { kind: 'trunk' }>, way: Way, called: boolean): void {
    const t = trunks.get(to.key);
    const of = object('trunk', to.key);
    if (t === undefined) return refuse(way, of, 27, `trunk ${to.key} is switched off`);
    const number = to.prepend + (called ? way.exten.slice(to.strip) : '');
    step(of, 'to', called ? `${way.exten} becomes ${number}` : `${number} is called`);
    if (!/^\+?[0-9]+$/.test(number)) return refuse(way, of, 28, `${number} is no number to call`);
    const shown_as = own === null ? caller : (t.outbound_number ?? own);
    end(way, 'trunk', of, `trunk ${to.key} as ${shown_as || 'nobody'}`, {
      ways: [{ trunk: to.key, number, shown_as }],
    });
  }
  function destination(to: Destination, way: Way, called = false): void {
    switch (to.kind) {
      case 'extension':
        return person(to.key, way);
      case 'queue':
        return queue(to.key, way);
      case 'ring_group':
        return group(to.key, way);
      case 'menu':
        return menu(to.key, way);
      case 'time_condition':
        return timeCondition(to.key, way);
      case 'conference':
        return end(way, 'conference', object('conference', to.key), `conference ${to.key}`);
      case 'mailbox':
        return end(way, 'mailbox', object('mailbox', to.key), `mailbox ${to.key}`);
      case 'service':
        return end(way, 'service', object('service', to.key), `service ${to.key}`);
      case 'trunk':
        return overTrunk(to, way, called);
      case 'hang_up':
        return end(way, 'ends', null, `ends: ${to.reason.replace('_', ' ')}`, { cause: HANG_UP[to.reason] });
    }
  }

  /** What stands behind a number of the house; `forwarded`: only what calls can be forwarded to. */
  function ownTarget(number: string, forwarded = false): ((way: Way) => void) | null {
    if (extensions.has(number)) return (way) => person(number, way);
    const q = site.queues.find((one) => one.number === number);
    if (q !== undefined) return (way) => queue(q.name, way);
    const g = site.ring_groups.find((one) => one.number === number);
    if (g !== undefined) return (way) => group(g.name, way);
    const m = site.menus.find((one) => one.number === number);
    if (m !== undefined) return (way) => menu(m.name, way);
    const t = site.time_conditions.find((one) => one.number === number);
    if (t !== undefined) return (way) => timeCondition(t.name, way);
    const c = site.conferences.find((one) => one.number === number);
    if (c !== undefined) return (way) => destination({ kind: 'conference', key: c.name }, way);
    if (site.mailboxes.some((one) => one.number === number))
      return (way) => destination({ kind: 'mailbox', key: number }, way);
    if (forwarded) return null;
    if (site.services.some((s) => s.number === number))
      return (way) => destination({ kind: 'service', key: number }, way);
    const code = site.feature_codes.find((one) =>
      one.patterns.some((p) => (p.startsWith('_') ? dialMatcher(p.slice(1))(number) : p === number)),
    );
    if (code !== undefined)
      return (way) =>
        end(way, 'feature_code', object('feature_code', code.id), `feature code: ${code.title}`);
    const lot = site.parking_lots.find((l) => {
      const n = Number(number);
      return l.number === number || (String(n) === number && n >= l.first_slot && n <= l.last_slot);
    });
    if (lot !== undefined)
      return (way) => end(way, 'parking', object('parking_lot', lot.name), `parking lot ${lot.name}`);
    return null;
  }
  function sendOutside(number: string, way: Way): void {
    const route = outside(number);
    if (route === null) return end(way, 'nothing', null, 'nothing matches', { cause: 1 });
    const of = object('outbound_route', route.name);
    const pattern = route.patterns.find((p) => dialMatcher(p)(number))!;
    step(of, `patterns ${pattern}`, `the first route that is for ${number}: class ${route.class}`);
    if (!/^\+?[0-9]+$/.test(number)) return refuse(way, of, 28, 'it holds more than digits');
    const who = extensions.get(way.by ?? '');
    const permitted = route.class === 'emergency' || who?.call_permission.includes(route.class) === true;
    if (!permitted) {
      step(
        object('extension', way.by ?? ''),
        'call_permission',
        `${way.by} may not call class ${route.class}`,
      );
      return refuse(way, of, 21, `class ${route.class} is not permitted`);
    }
    const ways = route.trunks.map(({ trunk, strip, prepend }) => {
      const t = trunks.get(trunk)!;
      const shown = t.show_extensions ? who?.caller_id : null;
      return {
        trunk,
        number: prepend + number.slice(strip),
        shown_as: shown ?? t.outbound_number ?? way.by ?? '',
      };
    });
    const over = ways.map((w) => `trunk ${w.trunk} to ${w.number} as ${w.shown_as}`);
    end(way, 'trunk', of, over.join(', then '), { ways });
  }

  const start: Way = { when: null, exten: question.number, by: own, forwards: 0, seen: new Set() };
  const { from, number } = question;
  if ('trunk' in from) {
    const route = inboundRoute(inboundOrder(site.inbound_routes, from.trunk), number, from.caller);
    if (route === null) end(start, 'nothing', null, 'nothing matches', { cause: 1 });
    else {
      const { name, number: called, prefix, caller: begins, trunk } = route;
      const rule = [
        `number ${called === null ? 'any' : called + (prefix ? '…' : '')}`,
        ...(begins === null ? [] : [`caller ${begins}…`]),
        ...(trunk === null ? [] : [`trunk ${trunk}`]),
      ].join(', ');
      step(object('inbound_route', name), rule, 'the closest route that is for this call');
      destination(route.to, start, true);
    }
    return { steps, ends, complete };
  }
  const inside = ownTarget(number);
  if (inside === null) sendOutside(number, start);
  else {
    step(null, 'numbers of the house', `${number} is a number of the house`);
    inside(start);
  }
  return { steps, ends, complete };
}
