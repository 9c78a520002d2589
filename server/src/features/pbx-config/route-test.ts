/** Walks a test call through the call plan and reports each step with its reason; without the engine, pure, bounded. */
import type { Destination } from '@offhook/contract/config-fields.ts';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import type { RouteTestEnd, RouteTestStep } from '@offhook/contract/config-route-test.ts';
import { isRung } from '../../ports/engine-state.ts';
import type { ExtensionFeatures } from '../../ports/engine-state.ts';
import type { Site, SiteCallLimit, SiteExtension, SiteOutboundRoute, SiteQueue } from '../../ports/site.ts';
import { CAUSE, MOST_FORWARDS } from '../../routing/causes.ts';
import type { CauseName } from '../../routing/causes.ts';
import { dialMatcher } from '../../routing/dial-pattern.ts';
import {
  FORWARDED,
  INTERNAL,
  activeMembers,
  callPlan,
  changedNumber,
  isEmergency,
  isNumber,
  leadsTo,
  limitsOf,
  mayCall,
  permitsCountry,
} from '../../routing/plan.ts';
import type { CallPlan, Dialled, Place, Target } from '../../routing/plan.ts';
import { inboundOrder, inboundRoute } from '../../routing/routes.ts';
import { opening, siteMoment } from '../../routing/site-time.ts';
import type { Opening, SiteMoment } from '../../routing/site-time.ts';

export interface RouteQuestion {
  readonly number: string;
  readonly from: { readonly extension: string } | { readonly trunk: string; readonly caller: string };
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly zone: string;
  /** Features of people, by extension. */
  readonly features: ReadonlyMap<string, ExtensionFeatures>;
}
export interface RouteAnswer {
  readonly steps: readonly RouteTestStep[];
  readonly ends: readonly RouteTestEnd[];
  readonly complete: boolean;
}
type ObjectName = RouteTestStep['object'];
interface Way {
  /** Condition of the branch the call took; null before the first branch. */
  readonly when: string | null;
  /** Dialled number or pressed key, as sent to a trunk. */
  readonly exten: string;
  /** Extension whose outbound permissions apply: the forwarding one, else the calling one; null for neither. */
  readonly by: string | null;
  readonly forwards: number;
  readonly seen: ReadonlySet<string>;
}
type End = Omit<RouteTestEnd, 'when'>;
const MOST_STEPS = 200;
const object = (kind: string, key: string): ObjectName => ({ kind, key });
const list = (words: readonly string[]): string => words.join(', ') || 'nobody';
const named = (kind: string): string => kind.replaceAll('_', ' ');

class Walk {
  readonly steps: RouteTestStep[] = [];
  readonly ends: RouteTestEnd[] = [];
  complete = true;
  readonly #plan: CallPlan;
  readonly #question: RouteQuestion;
  /** The calling extension; null for a call from outside. */
  readonly #own: string | null;

  constructor(plan: CallPlan, question: RouteQuestion) {
    this.#plan = plan;
    this.#question = question;
    this.#own = 'extension' in question.from ? question.from.extension : null;
  }
  start(): void {
    const { from, number } = this.#question;
    const way: Way = { when: null, exten: number, by: this.#own, forwards: 0, seen: new Set() };
    if ('trunk' in from) return this.#arrival(from, way);
    const own = this.#plan.own(number, INTERNAL);
    if (own === null) return this.#outside(number, way);
    this.#step(null, 'numbers of the house', `${number} is a number of the house`);
    this.#follow(own, way);
  }

  #step(of: ObjectName, rule: string, detail: string): void {
    if (this.steps.length < MOST_STEPS) this.steps.push({ object: of, rule, detail });
    else this.complete = false;
  }
  #end(
    way: Way,
    kind: End['kind'],
    of: ObjectName,
    detail: string,
    more: Partial<Pick<End, 'endpoints' | 'ways'>> & { readonly cause?: CauseName } = {},
  ): void {
    const { endpoints = [], ways = [], cause } = more;
    if (this.ends.length >= MOST_STEPS) this.complete = false;
    else
      this.ends.push({
        when: way.when,
        kind,
        object: of,
        detail,
        endpoints,
        ways,
        cause: cause === undefined ? null : CAUSE[cause],
      });
  }
  #refuse(way: Way, of: ObjectName, cause: CauseName, detail: string): void {
    this.#end(way, 'refused', of, `refused: ${detail}`, { cause });
  }
  /** Follows a branch to its end, but no branch within a branch. */
  #branch(way: Way, when: string, follow: (next: Way) => void): void {
    if (way.when === null) follow({ ...way, when });
  }
  #enter(way: Way, { kind, key }: Place, follow: (next: Way) => void): void {
    const name = `${kind} ${key}`;
    if (way.seen.has(name)) {
      const of = object(kind, key);
      this.#step(of, 'circle', `${name} was passed already`);
      return this.#refuse(way, of, 'circle', 'it is led in a circle');
    }
    follow({ ...way, seen: new Set([...way.seen, name]) });
  }
  #destination(to: Destination, way: Way, called = false): void {
    this.#follow(this.#plan.target(to, called), way);
  }
  #follow(to: Dialled, way: Way): void {
    switch (to.kind) {
      case 'extension':
        return this.#person(to.object, way);
      case 'queue':
        return this.#queue(to.object, way);
      case 'ring_group':
        return this.#enter(way, to, (inside) => this.#group(to.object, inside));
      case 'menu':
        return this.#enter(way, to, (inside) => this.#menu(to.object, inside));
      case 'time_condition':
        return this.#enter(way, to, (inside) => this.#timeCondition(to.object, inside));
      case 'conference':
      case 'mailbox':
      case 'service':
        return this.#end(way, to.kind, object(to.kind, to.key), `${to.kind} ${to.key}`);
      case 'feature_code':
        return this.#end(way, to.kind, object(to.kind, to.code.id), `feature code: ${to.code.title}`);
      case 'parking':
        return this.#end(way, to.kind, object('parking_lot', to.lot.name), `parking lot ${to.lot.name}`);
      case 'trunk':
        return this.#trunk(to, way);
      case 'hang_up':
        return this.#end(way, 'ends', null, `ends: ${named(to.reason)}`, { cause: to.cause });
      case 'off':
        return this.#off(to, way);
      case 'missing':
        return this.#end(way, 'nothing', object(to.of, to.key), `there is no such ${named(to.of)}`, {
          cause: 'unknown',
        });
    }
  }
  #off({ of: kind, key, cause }: Extract<Target, { kind: 'off' }>, way: Way): void {
    const of = object(kind, key);
    if (kind === 'trunk') return this.#refuse(way, of, cause, `trunk ${key} is switched off`);
    this.#step(of, 'active', `${key} is not active`);
    this.#end(way, 'nothing', of, 'nobody is there', { cause });
  }

  #forward(e: SiteExtension, number: string, why: string, way: Way): boolean {
    if (number === '') return false;
    const of = object('extension', e.extension);
    const inside = this.#plan.own(number, FORWARDED);
    const route = inside === null && e.forward_outside ? this.#plan.outside(number) : null;
    const help = route !== null && isEmergency(route);
    if (way.forwards >= MOST_FORWARDS || (inside === null && route === null) || help) {
      const because =
        way.forwards >= MOST_FORWARDS
          ? `${MOST_FORWARDS} forwards were followed already`
          : help
            ? 'it is an emergency number'
            : e.forward_outside
              ? 'it leads nowhere'
              : 'it is no number of the house, and forward_outside is off';
      this.#step(of, why, `the forward to ${number} is not followed: ${because}`);
      return false;
    }
    this.#step(of, why, `calls go to ${number}`);
    const next = { ...way, exten: number, forwards: way.forwards + 1, by: e.extension };
    if (inside !== null) this.#follow(inside, next);
    else this.#outside(number, next);
    return true;
  }
  #unanswered(e: SiteExtension, busy: boolean, way: Way): void {
    const of = object('extension', e.extension);
    const rule = busy ? 'forward_busy' : 'forward_no_answer';
    if (this.#forward(e, this.#question.features.get(e.extension)?.[rule] ?? '', rule, way)) return;
    if (e.voicemail) return this.#end(way, 'mailbox', of, `the mailbox of ${e.extension}`);
    this.#end(way, 'ends', of, busy ? 'busy' : 'nobody answers', { cause: busy ? 'busy' : 'no_answer' });
  }
  /** Devices of the chosen kinds; all devices if none has a chosen kind. */
  #devicesOf({ extension, endpoints }: SiteExtension): string[] {
    const devices = this.#question.features.get(extension)?.devices ?? 'all';
    const chosen = endpoints.filter((p) => isRung(devices, p.kind));
    return (chosen.length > 0 ? chosen : endpoints).map((p) => p.name);
  }
  #person(e: SiteExtension, way: Way): void {
    const { extension } = e;
    const of = object('extension', extension);
    const set = this.#question.features.get(extension);
    const always = set?.forward ?? '';
    if (this.#forward(e, always, 'forward', way)) return;
    if (always !== '') return this.#unanswered(e, false, way);
    if (set?.dnd === true) {
      this.#step(of, 'dnd', `${extension} does not want calls`);
      return this.#unanswered(e, true, way);
    }
    const endpoints = this.#devicesOf(e);
    this.#step(of, 'devices', `${list(endpoints)} ring`);
    this.#end(way, 'rings', of, `rings ${list(endpoints)}`, { endpoints });
    this.#branch(way, 'busy', (next) => this.#unanswered(e, true, next));
    this.#branch(way, 'nobody answers', (next) => this.#unanswered(e, false, next));
  }
  #queue({ name, agents, exit, otherwise }: SiteQueue, way: Way): void {
    const of = object('queue', name);
    this.#step(of, 'number', `waits in queue ${name}`);
    this.#end(way, 'queue', of, `queue ${name} with agents ${list(agents)}`);
    if (exit !== null)
      this.#branch(way, `key ${exit.key}`, (next) =>
        this.#destination(exit.to, { ...next, exten: exit.key }),
      );
    if (otherwise !== null)
      this.#branch(way, 'nobody takes it', (next) => this.#destination(otherwise, next));
  }
  #group(g: ConfigBody<'ring_group'>, way: Way): void {
    const of = object('ring_group', g.name);
    const members = activeMembers(g, this.#plan).filter(
      ({ extension }) => extension !== this.#own && this.#question.features.get(extension)?.dnd !== true,
    );
    const endpoints = members.flatMap((e) => this.#devicesOf(e));
    const how = g.strategy === 'all' ? 'together' : 'one after another';
    this.#step(of, 'members', `${list(members.map((e) => e.extension))} ring ${how}`);
    const { otherwise } = g;
    const after = (next: Way): void =>
      otherwise === null
        ? this.#end(next, 'ends', of, 'nobody is there', { cause: 'absent' })
        : this.#destination(otherwise, { ...next, exten: 's' });
    if (endpoints.length === 0) return after(way);
    this.#end(way, 'rings', of, `rings ${list(endpoints)}`, { endpoints });
    if (otherwise !== null) this.#branch(way, 'nobody answers', after);
  }
  #menu(m: ConfigBody<'menu'>, way: Way): void {
    const of = object('menu', m.name);
    this.#step(of, 'choices', `${list(m.choices.map((c) => c.key))} can be pressed`);
    this.#end(way, 'menu', of, `menu ${m.name} asks for a key`);
    for (const { key, to } of m.choices)
      this.#branch(way, `key ${key}`, (next) => this.#destination(to, { ...next, exten: key }));
    if (m.dial_extensions)
      this.#branch(way, 'an extension', (next) =>
        this.#end(next, 'rings', of, 'the extension that is dialled'),
      );
    this.#branch(way, 'no key', (next) => this.#destination(m.otherwise, { ...next, exten: 's' }));
  }
  #opening(t: ConfigBody<'time_condition'>): { readonly now: Opening; readonly moment: SiteMoment } {
    const moment = siteMoment(this.#question.at, this.#question.zone);
    return { now: opening(t, (key) => this.#plan.site.holidays.find((h) => h.name === key), moment), moment };
  }
  #timeCondition(t: ConfigBody<'time_condition'>, way: Way): void {
    const { zone } = this.#question;
    const { now, moment } = this.#opening(t);
    const { clock, year, month, day } = moment;
    const of = object('time_condition', t.name);
    this.#step(of, now.rule, `${now.is} at ${clock} on ${year}-${month}-${day}, ${zone}`);
    this.#destination(leadsTo(t)[now.is], { ...way, exten: 's' });
  }

  #trunk(to: Extract<Target, { kind: 'trunk' }>, way: Way): void {
    const { from } = this.#question;
    const { name: trunk, outbound_number } = to.trunk;
    const of = object('trunk', trunk);
    const number = changedNumber(to, way.exten);
    this.#step(of, 'to', to.strip === null ? `${number} is called` : `${way.exten} becomes ${number}`);
    if (!isNumber(number)) return this.#refuse(way, of, 'no_number', `${number} is no number to call`);
    const shown_as = 'trunk' in from ? from.caller : (outbound_number ?? from.extension);
    this.#end(way, 'trunk', of, `trunk ${trunk} as ${shown_as || 'nobody'}`, {
      ways: [{ trunk, number, shown_as }],
    });
  }
  /** Reason why a limit refuses the call; ignores its counters, which only the engine has. */
  #limited(limit: SiteCallLimit, route: SiteOutboundRoute, number: string): string | null {
    const of = object('call_limit', limit.name);
    const sent = changedNumber(route.trunks[0]!, number);
    const hours = this.#plan.site.time_conditions.find((t) => t.name === limit.hours);
    const closed = hours !== undefined && this.#opening(hours).now.is !== 'open';
    if (closed) {
      this.#step(of, 'hours', `time condition ${hours.name} is not open`);
      return `call limit ${limit.name} permits no calls at this time`;
    }
    if (!permitsCountry(limit, route, [number, sent])) {
      this.#step(of, 'countries', `${number} begins with none of ${list(limit.countries)}`);
      return `call limit ${limit.name} does not permit this country`;
    }
    this.#step(of, 'classes', `counts for call limit ${limit.name}`);
    return null;
  }
  #outside(number: string, way: Way): void {
    const route = this.#plan.outside(number);
    if (route === null) return this.#end(way, 'nothing', null, 'nothing matches', { cause: 'unknown' });
    const of = object('outbound_route', route.name);
    const pattern = route.patterns.find((p) => dialMatcher(p)(number))!;
    this.#step(of, `patterns ${pattern}`, `the first route that is for ${number}: class ${route.class}`);
    if (!isNumber(number)) return this.#refuse(way, of, 'no_number', 'it holds more than digits');
    const by = way.by ?? '';
    const who = this.#plan.extensions.get(by);
    if (!mayCall(who, route)) {
      const rule = `${way.by} may not call class ${route.class}`;
      this.#step(object('extension', by), 'call_permission', rule);
      return this.#refuse(way, of, 'rejected', `class ${route.class} is not permitted`);
    }
    for (const limit of limitsOf(this.#plan.site, by, route)) {
      const refused = this.#limited(limit, route, number);
      if (refused !== null) return this.#refuse(way, of, 'rejected', refused);
    }
    const ways = route.trunks.map((change) => {
      const t = this.#plan.trunks.get(change.trunk)!;
      const shown = t.show_extensions ? who?.caller_id : null;
      return {
        trunk: change.trunk,
        number: changedNumber(change, number),
        shown_as: shown ?? t.outbound_number ?? by,
      };
    });
    const over = ways.map((w) => `trunk ${w.trunk} to ${w.number} as ${w.shown_as}`);
    this.#end(way, 'trunk', of, over.join(', then '), { ways });
  }
  #arrival({ trunk: over, caller }: { readonly trunk: string; readonly caller: string }, way: Way): void {
    const layers = inboundOrder(this.#plan.site.inbound_routes, over);
    const route = inboundRoute(layers, way.exten, caller);
    if (route === null) return this.#end(way, 'nothing', null, 'nothing matches', { cause: 'unknown' });
    const { name, number, prefix, caller: begins, trunk } = route;
    const rule = [
      `number ${number === null ? 'any' : number + (prefix ? '…' : '')}`,
      ...(begins === null ? [] : [`caller ${begins}…`]),
      ...(trunk === null ? [] : [`trunk ${trunk}`]),
    ].join(', ');
    this.#step(object('inbound_route', name), rule, 'the closest route that is for this call');
    if (route.owner_seconds !== null)
      this.#step(
        object('inbound_route', name),
        'owner_seconds',
        `the owner of a customer is rung first, for ${route.owner_seconds} s`,
      );
    this.#destination(route.to, way, true);
  }
}

/** Never throws for a site that renders. O(objects). */
export function testRoute(site: Site, question: RouteQuestion): RouteAnswer {
  const walk = new Walk(callPlan(site), question);
  walk.start();
  const { steps, ends, complete } = walk;
  return { steps, ends, complete };
}
