/** Rules for a site with several engines: addresses must be unambiguous, and related objects need the same home. */
import { isIP } from 'node:net';
import { edgesOf } from '../../core/networks.ts';
import { say } from '../../core/said.ts';
import { wordOf } from './findings.ts';
import type { Found } from './findings.ts';
import type { Model } from './model.ts';
import { isOwnAddress } from './own-address.ts';

/** `node`: name of this node, null for a site of one node; missing if unknown. */
interface Nodes {
  readonly node?: string | null;
}
/** The same text for all spellings of one address; a name stays unchanged. */
const addressOf = (host: string): string =>
  isIP(host) === 0 ? host : edgesOf(`${host}/${isIP(host) === 6 ? '128' : '32'}`).join(' ');

/** Limit of engines: the leading node connects to each of them, and the files of each contain all others. */
const MOST_ENGINES = 16;
/** Addresses must be unique, because an engine recognises the source of a call by its address. */
function* addresses(model: Model, { node }: Nodes): Generator<Found> {
  const known = new Map<string, string>();
  const trunks = new Map([...model.of('trunk').values()].map(({ key, body }) => [addressOf(body.host), key]));
  for (const object of model.of('engine').values()) {
    const { host } = object.body;
    if (node === null)
      yield [object, 'node', 'this site has one node; other engines need OFFHOOK_NODE and PostgreSQL'];
    if (node === object.key)
      yield [
        object,
        'node',
        'must not be the leading node, which has the objects without an engine of their own',
      ];
    if (isOwnAddress(host))
      yield [object, 'host', 'must not be the address that the phones of browsers come from'];
    const other = known.get(addressOf(host));
    if (other !== undefined) yield [object, 'host', say`${wordOf('engine')} ${other} has this address`];
    known.set(addressOf(host), object.key);
    const trunk = trunks.get(addressOf(host));
    if (trunk !== undefined) yield [object, 'host', say`${wordOf('trunk')} ${trunk} has this address`];
  }
}
/** Findings about homes; none if no object is homed at another engine. */
function* homes(model: Model): Generator<Found> {
  const people = model.of('extension');
  const homeOf = (extension: string): string | null => people.get(extension)?.body.engine ?? null;
  for (const object of people.values())
    if (homeOf(object.key) !== null && object.body.devices.some((kind) => kind !== 'sip'))
      yield [object, 'devices', 'must be a desk phone to use another engine'];
  for (const object of model.of('queue').values())
    for (const [i, { extension }] of object.body.members.entries())
      if (people.has(extension) && homeOf(extension) !== (object.body.engine ?? null))
        yield [object, `members.${i}.extension`, 'must be homed at the engine of the queue'];
  for (const object of model.of('phone').values()) {
    const first = homeOf(object.body.extensions[0] ?? '');
    for (const [i, extension] of object.body.extensions.entries())
      if (homeOf(extension) !== first)
        yield [object, `extensions.${i}`, 'must be homed at the same engine as the other lines of the phone'];
  }
  for (const object of model.of('time_condition').values())
    for (const [i, extension] of object.body.switched_by.entries())
      if (homeOf(extension) !== null)
        yield [
          object,
          `switched_by.${i}`,
          'can only be switched by phones at the engine of the leading node',
        ];
}
export function* engines(model: Model, house: Nodes): Generator<Found> {
  const all = [...model.of('engine').values()];
  const first = all.at(MOST_ENGINES);
  if (first !== undefined)
    yield [first, 'node', say`a site has at most ${MOST_ENGINES} engines beside that of the leading node`];
  if (all.length > 0) yield* addresses(model, house);
  yield* homes(model);
}
