import { NetworkConfig, SettingsConfig } from '@offhook/contract/config-network.ts';
import type { ConfigBody } from '@offhook/contract/config-objects.ts';
import { DEVICE_SUFFIX } from '../../ports/directory.ts';
import type { EndpointKind, Person } from '../../ports/directory.ts';
import type { Site, SiteTrunk } from '../../ports/site.ts';
import { byNumber, mailboxOwners } from './model.ts';
import type { Model, StoredObject } from './model.ts';

type Extension = ConfigBody<'extension'>;
/** A person with the fields that only the engine needs. */
export interface ConfiguredPerson extends Pick<
  Extension,
  | 'voicemail'
  | 'forward_outside'
  | 'recording'
  | 'caller_id'
  | 'pickup_group'
  | 'call_permission'
  | 'srtp'
  | 'media_address'
  | 'location'
  | 'language'
  | 'engine'
> {
  readonly person: Person;
  readonly sip_password: string;
  readonly voicemail_pin: string;
}
/**
 * The whole configuration: the renderer's site plus inactive people and disabled trunks. Queues are in order of number;
 * their agents and static members are extensions of active people, in order.
 */
export interface PbxConfig extends Omit<
  Site,
  'extensions' | 'trunks' | 'feature_codes' | 'found_address' | 'trunk_proxy' | 'shared_phones' | 'engines'
> {
  /** In order of extension. */
  readonly people: readonly ConfiguredPerson[];
  /** In order of name. */
  readonly trunks: readonly (SiteTrunk & { readonly enabled: boolean })[];
  /** Changes of feature codes by the site. */
  readonly feature_codes: readonly ConfigBody<'feature_code'>[];
  readonly phones: readonly ConfiguredPhone[];
  readonly phone_layouts: readonly ConfigBody<'phone_layout'>[];
  /** Engines beside that of the leading node. */
  readonly engines: readonly ConfigBody<'engine'>[];
}
export interface ConfiguredPhone extends ConfigBody<'phone'> {
  readonly id: number;
  readonly token: string;
  readonly sip_password: string;
}

const ENDPOINT_KINDS = Object.keys(DEVICE_SUFFIX) as EndpointKind[];

function configured({ id, body }: StoredObject<'extension'>): ConfiguredPerson {
  const { devices, sip_password, voicemail_pin, ...rest } = body;
  const {
    voicemail,
    forward_outside,
    recording,
    caller_id,
    pickup_group,
    call_permission,
    srtp,
    media_address,
    location,
    language,
    engine,
    ...who
  } = rest;
  const endpoints = ENDPOINT_KINDS.filter((kind) => devices.includes(kind)).map((kind) => ({
    name: body.extension + DEVICE_SUFFIX[kind],
    kind,
  }));
  return {
    person: Object.freeze({ id, ...who, pickup_group, endpoints }),
    // draft.ts generates them if missing.
    sip_password: sip_password ?? '',
    voicemail_pin: voicemail_pin ?? '',
    voicemail,
    forward_outside,
    recording,
    caller_id,
    pickup_group,
    call_permission,
    srtp,
    media_address,
    location,
    language,
    engine,
  };
}
const trunkOf = ({ username, password, ...trunk }: ConfigBody<'trunk'>) => ({
  ...trunk,
  endpoint: `trunk-${trunk.name}`,
  login: username === null || password === undefined ? null : { username, password },
  servers: [],
});

const configs = new WeakMap<Model, PbxConfig>();
/** O(objects), once for each model: a start needs it for the directory and for the engine's files. */
export function toPbxConfig(model: Model): PbxConfig {
  const made = configs.get(model) ?? configOf(model);
  configs.set(model, made);
  return made;
}
function configOf(model: Model): PbxConfig {
  const people = [...model.of('extension').values()].map(configured);
  const active = new Set(people.filter((p) => p.person.active).map((p) => p.person.extension));
  const bodies = <K extends Parameters<Model['of']>[0]>(kind: K) =>
    [...model.of(kind).values()].map((o) => o.body);
  return {
    people,
    queues: bodies('queue')
      .map((queue) => {
        const members = queue.members.filter((m) => active.has(m.extension));
        return {
          ...queue,
          agents: members.map((m) => m.extension).sort(byNumber),
          static_members: members
            .filter((m) => m.static)
            .map((m) => m.extension)
            .sort(byNumber),
        };
      })
      .sort((a, b) => byNumber(a.number, b.number)),
    trunks: bodies('trunk').map(trunkOf),
    inbound_routes: bodies('inbound_route'),
    outbound_routes: bodies('outbound_route').sort((a, b) => a.position - b.position),
    call_limits: bodies('call_limit'),
    pause_reasons: bodies('pause_reason')
      .sort((a, b) => a.position - b.position)
      .map(({ id, name, paid, longest_seconds, supervisor_only }) => ({
        id,
        name,
        paid,
        longest_seconds,
        supervisor_only,
      })),
    services: bodies('service'),
    ring_groups: bodies('ring_group'),
    menus: bodies('menu'),
    time_conditions: bodies('time_condition'),
    holidays: bodies('holidays'),
    conferences: bodies('conference'),
    mailboxes: bodies('mailbox').map((m) => ({ ...m, pin: m.pin ?? '' })),
    mailbox_owners: mailboxOwners(model),
    parking_lots: bodies('parking_lot'),
    music_classes: bodies('music_class'),
    prompts: bodies('prompt'),
    feature_codes: bodies('feature_code'),
    phones: [...model.of('phone').values()].map(({ id, body }) => ({
      ...body,
      id,
      token: body.token ?? '',
      sip_password: body.sip_password ?? '',
    })),
    phone_layouts: bodies('phone_layout'),
    engines: bodies('engine'),
    network: model.of('network').get('site')?.body ?? NetworkConfig.parse({}),
    settings: model.of('settings').get('site')?.body ?? SettingsConfig.parse({}),
  };
}
