/** What no single object shows: numbers and names that mean two things, and names that mean nothing. */
import { dialMatcher, patternsMeet, shortestOf } from '../../routing/dial-pattern.ts';
import { say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import { isEmergency } from '../../routing/plan.ts';
import { MOST_LAYERS, MOST_PATTERNS, outboundLayers } from '../../routing/routes.ts';
import { findingOf, wordOf } from './findings.ts';
import type { Finding } from './findings.ts';
import { allObjects } from './model.ts';
import type { Model, StoredObject } from './model.ts';
import { referencesOf } from '@offhook/contract/config-references.ts';

/** What of the exchange itself a model is checked against. */
export interface House {
  /** Ids of its feature codes, each with what it begins with where the site changed nothing. */
  readonly codes: ReadonlyMap<string, string>;
  /** What is dialled of each of them then, as the engine's patterns; left out where nobody can tell. */
  readonly patterns?: ReadonlyMap<string, readonly string[]>;
  /** Whether a sound was uploaded and is kept; left out where nobody can tell. */
  readonly hasSound?: (sound: string) => boolean;
}

/** An object, its field, and what is wrong with it. */
type Found = readonly [StoredObject, path: string, said: Said | string];
const fieldOf = (body: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce((value: unknown, name) => (value as Record<string, unknown> | undefined)?.[name], body);

/** Numbers that somebody can dial, each with the field it comes from. */
function* numbersOf(object: StoredObject): Generator<readonly [number: string, path: string]> {
  const body = object.body as Record<string, unknown>;
  switch (object.kind) {
    case 'extension':
      yield [object.key, 'extension'];
      return;
    case 'parking_lot': {
      const { number, first_slot, last_slot } = (object as StoredObject<'parking_lot'>).body;
      yield [number, 'number'];
      for (let slot = first_slot; slot <= last_slot; slot++) yield [String(slot), 'first_slot'];
      return;
    }
    default:
      if (typeof body['number'] === 'string' && object.kind !== 'inbound_route')
        yield [body['number'], 'number'];
  }
}

/** Names that files of the engine use for something else. */
const RESERVED: ReadonlySet<string> = new Set(['general', 'globals', 'waiting-room']);
/**
 * Time conditions that only lead to each other: a call would go round them until the engine ends it. Any other round takes
 * its time or the hand of the caller, and may be meant.
 */
function timeRounds(model: Model): StoredObject<'time_condition'>[] {
  const all = model.of('time_condition');
  const waysOf = ({ body }: StoredObject<'time_condition'>): string[] =>
    [body.when_open, body.when_closed, body.on_holiday].flatMap((to) =>
      to?.kind === 'time_condition' && all.has(to.key) ? [to.key] : [],
    );
  const ends = new Map<string, boolean>();
  const goesRound = (key: string): boolean => {
    const known = ends.get(key);
    if (known !== undefined) return known;
    // Met again while it is looked at, it is on its own way.
    ends.set(key, true);
    const round = waysOf(all.get(key)!).some(goesRound);
    ends.set(key, round);
    return round;
  };
  return [...all.values()].filter(({ key }) => goesRound(key));
}
/** Where this service itself talks to the engine from, for the browsers; and what is every address or none. */
const OWN_ADDRESS =
  /^(?:127\.0\.0\.1|0\.0\.0\.0|\[(?:::1?|::ffff:(?:7f00:1|0:0))\]|(?:.+\.)?localhost(?:\.localdomain)?)$/;
/** Accepts every spelling: `127.1`, `2130706433` and `0:0:0:0:0:0:0:1` are addresses too. Names are not looked up. */
function isOwnAddress(host: string): boolean {
  const url = `http://${host.includes(':') ? `[${host}]` : host}`;
  return URL.canParse(url) && OWN_ADDRESS.test(new URL(url).hostname);
}
/** Codes and services that the engine could not tell apart from another while they are dialled. */
function* alike(model: Model, { codes, patterns = new Map() }: House): Generator<Found> {
  const changed = model.of('feature_code');
  const dialled = [...patterns].flatMap(([id, own]) => {
    const object = changed.get(id);
    if (object?.body.enabled === false) return [];
    const what = say`${wordOf('feature_code')} ${id}`;
    return own.map((p) => ({
      object,
      path: 'code',
      name: `feature code ${id}`,
      what,
      pattern: p.replace(/^_/, '').replace(codes.get(id)!, object?.body.code ?? codes.get(id)!),
    }));
  });
  const services = [...model.of('service').values()]
    .filter(({ key }) => /^[*#]/.test(key))
    .map((object) => ({
      object,
      path: 'number',
      name: `service ${object.key}`,
      what: say`${wordOf('service')} ${object.key}`,
      pattern: object.key,
    }));
  const all = [...dialled, ...services];
  for (const [i, a] of all.entries())
    for (const b of all.slice(0, i)) {
      const said = a.object === undefined ? b : a;
      const other = said === a ? b : a;
      if (said.object === undefined || a.name === b.name || !patternsMeet(a.pattern, b.pattern)) continue;
      yield [
        said.object,
        said.path,
        say`${said.pattern} cannot be told apart from ${other.pattern}, ${other.what}`,
      ];
    }
}
/** Slots of all parking lots together: each is a number of its own, here and in the engine. */
const MOST_SLOTS = 10_000;
/** What is wrong beyond these is not told: so much is wrong in one way. */
const MOST_FINDINGS = 10_000;

/** References to nothing, and numbers that two objects have. Fills `numbers` with what has each number. */
function* namesAndNumbers(model: Model, house: House, numbers: Map<string, Said>): Generator<Found> {
  let slots = 0;
  const takers = new Map<string, readonly [StoredObject, path: string]>();
  const codes = new Map(house.codes);
  for (const { key, body } of model.of('feature_code').values())
    if (body.enabled) codes.set(key, body.code);
    else codes.delete(key);
  for (const [id, code] of codes) numbers.set(code, say`${wordOf('feature_code')} ${id}`);
  for (const object of allObjects(model)) {
    for (const { kind, key, path } of referencesOf(object))
      if (!model.of(kind).has(key))
        yield [object, path, say`there is no ${wordOf(kind)} ${JSON.stringify(key)}`];
    if (object.kind === 'parking_lot') {
      const { first_slot, last_slot } = (object as StoredObject<'parking_lot'>).body;
      slots += last_slot - first_slot + 1;
      if (slots > MOST_SLOTS) {
        yield [object, 'last_slot', say`all parking lots together have more than ${MOST_SLOTS} slots`];
        continue;
      }
    }
    for (const [number, path] of numbersOf(object)) {
      const what = say`${wordOf(object.kind)} ${object.key}`;
      const other = numbers.get(number);
      if (other === undefined) {
        numbers.set(number, what);
        takers.set(number, [object, path]);
        continue;
      }
      yield [object, path, say`${number} is taken by ${other}`];
      // Both are named, because either may be the one that was just written.
      const taker = takers.get(number);
      if (taker !== undefined) yield [...taker, say`${number} is taken by ${what}`];
    }
  }
}
function* userNames(model: Model): Generator<Found> {
  const users = new Map<string, string>();
  for (const object of model.of('extension').values()) {
    const { username } = object.body;
    const other = users.get(username);
    if (other !== undefined) yield [object, 'username', say`extension ${other} has this user name`];
    users.set(username, object.key);
    if (model.of('extension').has(username) && username !== object.key)
      yield [object, 'username', 'it is the extension of somebody else'];
  }
}
/** Rules within one object. */
function* withinObjects(model: Model, house: House): Generator<Found> {
  for (const object of model.of('queue').values())
    if (new Set(object.body.members.map((m) => m.extension)).size < object.body.members.length)
      yield [object, 'members', 'somebody is in it twice'];
  for (const object of model.of('menu').values())
    if (new Set(object.body.choices.map((c) => c.key)).size < object.body.choices.length)
      yield [object, 'choices', 'a key leads to two places'];
  for (const object of model.of('prompt').values())
    if (house.hasSound?.(object.body.sound) === false)
      yield [object, 'sound', 'there is no such sound; upload it first'];
  for (const object of model.of('conference').values()) {
    const { pin, leader_pin, wait_for_leader } = object.body;
    if (wait_for_leader && (leader_pin ?? null) === null)
      yield [object, 'wait_for_leader', 'nobody could be the leader without a PIN of their own'];
    if ((pin ?? null) !== null && pin === leader_pin) yield [object, 'leader_pin', 'it is that of everybody'];
  }
}
function* trunks(model: Model): Generator<Found> {
  for (const object of allObjects(model)) {
    if (object.kind === 'inbound_route' || object.kind === 'outbound_route') continue;
    for (const { kind, path } of referencesOf(object))
      if (kind === 'trunk' && fieldOf(object.body, `${path}.prepend`) === '')
        yield [object, `${path}.prepend`, 'from here it is the whole number to call, and there is none'];
  }
  for (const object of model.of('trunk').values()) {
    if (isOwnAddress(object.body.host))
      yield [object, 'host', 'every browser that is a phone would be taken for it: they all come from there'];
    const { register, username, password } = object.body;
    if (register && (username === null || password === undefined))
      yield [object, 'register', 'to register it needs a username and a password'];
    if ((username === null) !== (password === undefined))
      yield [
        object,
        username === null ? 'username' : 'password',
        'a login is both a username and a password',
      ];
  }
}
function* inboundRoutes(model: Model): Generator<Found> {
  const inbound = new Map<string, string>();
  for (const object of model.of('inbound_route').values()) {
    const { trunk, number, prefix, caller } = object.body;
    const way = JSON.stringify([trunk, number, prefix, caller]);
    const other = inbound.get(way);
    if (other !== undefined) yield [object, 'number', say`inbound route ${other} is for the same calls`];
    inbound.set(way, object.key);
  }
}
/** `numbers`: what has each number of the exchange. */
function* outboundRoutes(model: Model, numbers: ReadonlyMap<string, Said>): Generator<Found> {
  for (const object of model.of('outbound_route').values()) {
    const { patterns, trunks: ways } = object.body;
    const shortest = Math.min(...patterns.map(shortestOf));
    for (const [i, { strip, prepend }] of ways.entries())
      if (strip > shortest) yield [object, `trunks.${i}.strip`, 'more digits than the shortest pattern has'];
      else if (strip === shortest && prepend === '')
        yield [object, `trunks.${i}.strip`, 'nothing would be left of the shortest number'];
    if (!isEmergency(object.body)) continue;
    const matches = patterns.map(dialMatcher);
    for (const [number, what] of numbers)
      if (matches.some((is) => is(number)))
        yield [object, 'patterns', say`${number} is ${what}, which would keep it from being called for help`];
  }
  const routes = [...model.of('outbound_route').values()];
  const patterns = routes.reduce((sum, r) => sum + r.body.patterns.length, 0);
  if (patterns > MOST_PATTERNS)
    yield [
      routes.at(-1)!,
      'patterns',
      say`all routes together have ${patterns} patterns, more than ${MOST_PATTERNS}`,
    ];
  else if (outboundLayers(routes.map((r) => r.body)).length > MOST_LAYERS)
    yield [routes.at(-1)!, 'patterns', say`more than ${MOST_LAYERS} routes are for numbers of each other`];
}
function* reserved(model: Model): Generator<Found> {
  for (const object of timeRounds(model))
    yield [object, 'when_open', 'it leads into a round of nothing but time conditions'];
  for (const object of allObjects(model))
    if (RESERVED.has(object.key)) yield [object, 'name', 'the engine uses this name for something else'];
}
function* unknownCodes(model: Model, { codes }: House): Generator<Found> {
  for (const object of model.of('feature_code').values())
    if (!codes.has(object.key)) yield [object, 'id', 'the exchange has no such feature code'];
}

/** In order of the rules, then of kind and key; empty where everything fits. O(objects and numbers). */
export function checkModel(model: Model, house: House): readonly Finding[] {
  const findings: Finding[] = [];
  const numbers = new Map<string, Said>();
  const rules = [
    namesAndNumbers(model, house, numbers),
    userNames(model),
    withinObjects(model, house),
    trunks(model),
    inboundRoutes(model),
    outboundRoutes(model, numbers),
    reserved(model),
    alike(model, house),
    unknownCodes(model, house),
  ];
  for (const found of rules)
    for (const [object, path, said] of found)
      if (findings.length < MOST_FINDINGS) findings.push(findingOf(object, path, said));
  if (![...model.of('extension').values()].some(({ body }) => body.level === 'admin' && body.active)) {
    const [first] = model.of('extension').values();
    const said = 'nobody would be left to administer the exchange';
    findings.push(findingOf({ kind: 'extension', key: first?.key ?? '' }, first ? 'level' : '', said));
  }
  return findings;
}
