/** Rules across objects: numbers and names with two meanings, and references to missing objects. */
import { isIP } from 'node:net';
import { dialMatcher, patternsMeet, shortestOf } from '../../routing/dial-pattern.ts';
import { say } from '../../core/said.ts';
import type { Said } from '../../core/said.ts';
import { isEmergency } from '../../routing/plan.ts';
import { MOST_LAYERS, MOST_PATTERNS, outboundLayers } from '../../routing/routes.ts';
import { engines } from './check-engines.ts';
import { findingOf, wordOf } from './findings.ts';
import type { Finding, Found } from './findings.ts';
import { allObjects } from './model.ts';
import type { Model, StoredObject } from './model.ts';
import { isOwnAddress } from './own-address.ts';
import { referencesOf } from '@offhook/contract/config-references.ts';
import { networkLocations, networkPorts, networkSources } from './check-network.ts';
import type { UsedPorts } from './check-network.ts';

/** Properties of the service against which a model is checked. */
export interface House {
  /** Ids of feature codes, each with the start of its default code. */
  readonly codes: ReadonlyMap<string, string>;
  /** Engine patterns of the default codes; missing if unknown. */
  readonly patterns?: ReadonlyMap<string, readonly string[]>;
  /** True if a sound was uploaded and is kept; missing if unknown. */
  readonly hasSound?: (sound: string) => boolean;
  /** True if there are templates for phones of this vendor; missing if unknown. */
  readonly hasVendor?: (vendor: string) => boolean;
  /** Name of this node among several, null for a site of one node; missing if unknown. */
  readonly node?: string | null;
  /** Ports of the service's own settings. */
  readonly ports?: readonly UsedPorts[];
  /** Ports of media if the network names none. */
  readonly rtpPorts?: UsedPorts;
}
const fieldOf = (body: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce((value: unknown, name) => (value as Record<string, unknown> | undefined)?.[name], body);

/** Dialled numbers, each with its field. */
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

/** Section names with another meaning in the engine's files. */
const RESERVED: ReadonlySet<string> = new Set(['general', 'globals', 'waiting-room']);
/**
 * Time conditions that only lead to each other: a call would loop until the engine ends it. Any other loop takes time
 * or a key of the caller, and may be intended.
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
    // A condition met again during its own check is part of a loop.
    ends.set(key, true);
    const round = waysOf(all.get(key)!).some(goesRound);
    ends.set(key, round);
    return round;
  };
  return [...all.values()].filter(({ key }) => goesRound(key));
}
/** Findings about feature codes and services that the engine cannot distinguish during dialling. */
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
        say`${said.pattern} cannot be distinguished from ${other.pattern}, ${other.what}`,
      ];
    }
}
/** Limit of slots of all parking lots together; each is a number, here and in the engine. */
const MOST_SLOTS = 10_000;
/** Limit of findings; more are likely to have the same cause. */
const MOST_FINDINGS = 10_000;

/** Findings about missing objects and numbers with two objects. Fills `numbers` with the object of each number. */
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
      // Both objects are reported, because either may be the one that was just written.
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
      yield [object, 'username', 'must not be the extension of another person'];
  }
}
/** Rules within one object. */
function* withinObjects(model: Model, house: House): Generator<Found> {
  for (const object of model.of('queue').values())
    if (new Set(object.body.members.map((m) => m.extension)).size < object.body.members.length)
      yield [object, 'members', 'must contain each extension once'];
  for (const object of model.of('menu').values())
    if (new Set(object.body.choices.map((c) => c.key)).size < object.body.choices.length)
      yield [object, 'choices', 'must have one destination for each key'];
  for (const object of model.of('prompt').values())
    if (house.hasSound?.(object.body.sound) === false)
      yield [object, 'sound', 'there is no such sound; upload it first'];
  for (const object of model.of('conference').values()) {
    const { pin, leader_pin, wait_for_leader } = object.body;
    if (wait_for_leader && (leader_pin ?? null) === null)
      yield [object, 'wait_for_leader', 'needs a leader_pin: without one nobody can be the leader'];
    if ((pin ?? null) !== null && pin === leader_pin)
      yield [object, 'leader_pin', 'must differ from the PIN of the other participants'];
  }
}
function* trunks(model: Model): Generator<Found> {
  for (const object of allObjects(model)) {
    if (object.kind === 'inbound_route' || object.kind === 'outbound_route') continue;
    for (const { kind, path } of referencesOf(object))
      if (kind === 'trunk' && fieldOf(object.body, `${path}.prepend`) === '')
        yield [object, `${path}.prepend`, 'is needed: it is the complete number to call over this trunk'];
  }
  for (const object of model.of('trunk').values()) {
    if (isOwnAddress(object.body.host))
      yield [object, 'host', 'must not be the address that the phones of browsers come from'];
    const { register, username, password, transport, srv, host } = object.body;
    if (srv === true && isIP(host) !== 0)
      yield [object, 'srv', 'needs a domain as host, because an address has no SRV records'];
    if (transport === 'tls' && (model.of('network').get('site')?.body.tls_port ?? null) === null)
      yield [object, 'transport', 'TLS needs tls_port of the network'];
    if (register && (username === null || password === undefined))
      yield [object, 'register', 'needs a username and a password to register'];
    if ((username === null) !== (password === undefined))
      yield [
        object,
        username === null ? 'username' : 'password',
        'needs both a username and a password, or neither',
      ];
  }
}
function* inboundRoutes(model: Model): Generator<Found> {
  const inbound = new Map<string, string>();
  const byAddress = new Map<string, StoredObject<'inbound_route'>>();
  for (const object of model.of('inbound_route').values()) {
    const { trunk, number, prefix, caller, to } = object.body;
    const way = JSON.stringify([trunk, number, prefix, caller]);
    const other = inbound.get(way);
    if (other !== undefined) yield [object, 'number', say`matches the same calls as inbound route ${other}`];
    inbound.set(way, object.key);
    const used = trunk === null ? undefined : model.of('trunk').get(trunk)?.body;
    // A call of a registered account is known by its contact.
    if (used === undefined || !used.enabled || used.register) continue;
    const same = JSON.stringify([used.host.toLowerCase(), used.srv, number, prefix, caller]);
    const alike = byAddress.get(same);
    byAddress.set(same, object);
    if (
      alike !== undefined &&
      alike.body.trunk !== trunk &&
      JSON.stringify(alike.body.to) !== JSON.stringify(to)
    )
      yield [
        object,
        'trunk',
        say`cannot be distinguished from trunk ${alike.body.trunk!} of inbound route ${alike.key}, which has the same host and does not register either; name different numbers`,
      ];
  }
}
/** `numbers`: the object of each number. */
function* outboundRoutes(model: Model, numbers: ReadonlyMap<string, Said>): Generator<Found> {
  for (const object of model.of('outbound_route').values()) {
    const { patterns, trunks: ways } = object.body;
    const shortest = Math.min(...patterns.map(shortestOf));
    for (const [i, { strip, prepend }] of ways.entries())
      if (strip > shortest)
        yield [object, `trunks.${i}.strip`, 'must not strip more digits than the shortest pattern has'];
      else if (strip === shortest && prepend === '')
        yield [object, `trunks.${i}.strip`, 'must leave at least one digit of the shortest number'];
    if (!isEmergency(object.body)) continue;
    const matches = patterns.map(dialMatcher);
    for (const [number, what] of numbers)
      if (matches.some((is) => is(number)))
        yield [
          object,
          'patterns',
          say`${number} is ${what}, so calls to it would not reach this emergency route`,
        ];
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
    yield [routes.at(-1)!, 'patterns', say`more than ${MOST_LAYERS} routes overlap in their numbers`];
}
function* reserved(model: Model): Generator<Found> {
  for (const object of timeRounds(model))
    yield [object, 'when_open', 'leads back to itself through time conditions only'];
  for (const object of allObjects(model))
    if (RESERVED.has(object.key)) yield [object, 'name', 'is reserved by the engine; choose another name'];
}
function* unknownCodes(model: Model, { codes }: House): Generator<Found> {
  for (const object of model.of('feature_code').values())
    if (!codes.has(object.key)) yield [object, 'id', 'the exchange has no such feature code'];
}
function* nightSwitches(model: Model): Generator<Found> {
  for (const object of model.of('time_condition').values())
    if (object.body.switched_by.length > 0 && object.body.number === null)
      yield [object, 'number', 'needs a number to be switched by phone'];
}
/** Phones with the same MAC address or without templates, and keys for missing objects. */
function* phones(model: Model, { hasVendor }: House): Generator<Found> {
  const macs = new Map<string, string>();
  const tokens = new Map<string, string>();
  const tls = (model.of('network').get('site')?.body.tls_port ?? null) !== null;
  for (const object of model.of('phone').values()) {
    const { extensions, mac, shared, token, transport, vendor } = object.body;
    if (shared && extensions.length > 0)
      yield [object, 'extensions', 'must be empty for a shared phone, where people sign in'];
    if (!shared && extensions.length === 0)
      yield [object, 'extensions', 'needs at least one extension, or `shared`'];
    const twin = token === undefined ? undefined : tokens.get(token);
    if (twin !== undefined) yield [object, 'token', say`phone ${twin} has this token`];
    if (token !== undefined) tokens.set(token, object.key);
    const other = mac === null ? undefined : macs.get(mac);
    if (other !== undefined) yield [object, 'mac', say`phone ${other} has this MAC address`];
    if (mac !== null) macs.set(mac, object.key);
    if (hasVendor?.(vendor) === false) yield [object, 'vendor', 'no templates exist for this vendor'];
    if (transport === 'tls' && !tls) yield [object, 'transport', 'TLS needs tls_port of the network'];
  }
  const lots = [...model.of('parking_lot').values()].map(({ body }) => body);
  for (const object of model.of('phone_layout').values())
    for (const [i, { does, value }] of object.body.keys.entries()) {
      const path = `keys.${i}.value`;
      if ((does === 'extension' || does === 'queue') && !model.of(does).has(value))
        yield [object, path, say`there is no ${wordOf(does)} ${JSON.stringify(value)}`];
      if (does === 'speed_dial' && !/^\+?[0-9*#]{1,32}$/.test(value))
        yield [object, path, 'must be 1 to 32 of 0-9 * #, with or without a + in front'];
      if (
        does === 'night_switch' &&
        !((model.of('time_condition').get(value)?.body.switched_by.length ?? 0) > 0)
      )
        yield [object, path, 'no time condition of this name can be switched by phone'];
      const slot = Number(value);
      if (does === 'parking_slot' && !lots.some((lot) => slot >= lot.first_slot && slot <= lot.last_slot))
        yield [object, path, 'no parking lot has this slot'];
    }
}

/** Findings in order of the rules, then of kind and key; none for a valid model. O(objects and numbers). */
export function checkModel(model: Model, house: House): readonly Finding[] {
  const findings: Finding[] = [];
  const numbers = new Map<string, Said>();
  const rules = [
    namesAndNumbers(model, house, numbers),
    userNames(model),
    withinObjects(model, house),
    trunks(model),
    networkPorts(model, house),
    networkSources(model),
    networkLocations(model),
    inboundRoutes(model),
    outboundRoutes(model, numbers),
    reserved(model),
    alike(model, house),
    unknownCodes(model, house),
    phones(model, house),
    nightSwitches(model),
    engines(model, house),
  ];
  for (const found of rules)
    for (const [object, path, said] of found)
      if (findings.length < MOST_FINDINGS) findings.push(findingOf(object, path, said));
  if (![...model.of('extension').values()].some(({ body }) => body.level === 'admin' && body.active)) {
    const [first] = model.of('extension').values();
    const said = 'at least one active person must keep the level admin';
    findings.push(findingOf({ kind: 'extension', key: first?.key ?? '' }, first ? 'level' : '', said));
  }
  return findings;
}
