/**
 * Objects of the configuration by kind. Their schemas, in the other files `config-*.ts`, are those of the API and of the store;
 * secrets are optional, accepted and never returned; a missing one keeps the stored value.
 */
import type { z } from 'zod';
import {
  ConferenceConfig,
  FeatureCodeConfig,
  HolidaysConfig,
  MenuConfig,
  MusicClassConfig,
  ParkingLotConfig,
  PromptConfig,
  ServiceConfig,
  TimeConditionConfig,
} from './config-call-flow.ts';
import { ExtensionConfig, MailboxConfig, PauseReasonConfig } from './config-extensions.ts';
import { EngineConfig, NetworkConfig, SettingsConfig } from './config-network.ts';
import { PhoneConfig, PhoneLayoutConfig } from './config-phones.ts';
import { QueueConfig, RingGroupConfig } from './config-queues.ts';
import { CallLimitConfig, InboundRouteConfig, OutboundRouteConfig, TrunkConfig } from './config-trunks.ts';

/** Every kind of object: its schema and its key field. */
export const CONFIG_KINDS = {
  extension: { schema: ExtensionConfig, key: 'extension', path: 'extensions' },
  queue: { schema: QueueConfig, key: 'name', path: 'queues' },
  ring_group: { schema: RingGroupConfig, key: 'name', path: 'ring-groups' },
  menu: { schema: MenuConfig, key: 'name', path: 'menus' },
  time_condition: { schema: TimeConditionConfig, key: 'name', path: 'time-conditions' },
  holidays: { schema: HolidaysConfig, key: 'name', path: 'holidays' },
  conference: { schema: ConferenceConfig, key: 'name', path: 'conferences' },
  mailbox: { schema: MailboxConfig, key: 'number', path: 'mailboxes' },
  parking_lot: { schema: ParkingLotConfig, key: 'name', path: 'parking-lots' },
  music_class: { schema: MusicClassConfig, key: 'name', path: 'music-classes' },
  prompt: { schema: PromptConfig, key: 'name', path: 'prompts' },
  trunk: { schema: TrunkConfig, key: 'name', path: 'trunks' },
  inbound_route: { schema: InboundRouteConfig, key: 'name', path: 'inbound-routes' },
  outbound_route: { schema: OutboundRouteConfig, key: 'name', path: 'outbound-routes' },
  call_limit: { schema: CallLimitConfig, key: 'name', path: 'call-limits' },
  feature_code: { schema: FeatureCodeConfig, key: 'id', path: 'feature-codes' },
  pause_reason: { schema: PauseReasonConfig, key: 'id', path: 'pause-reasons' },
  service: { schema: ServiceConfig, key: 'number', path: 'services' },
  phone: { schema: PhoneConfig, key: 'name', path: 'phones' },
  phone_layout: { schema: PhoneLayoutConfig, key: 'name', path: 'phone-layouts' },
  engine: { schema: EngineConfig, key: 'node', path: 'engines' },
  settings: { schema: SettingsConfig, key: 'name', path: 'settings' },
  network: { schema: NetworkConfig, key: 'name', path: 'network' },
} as const;
export type ConfigKind = keyof typeof CONFIG_KINDS;
/** A stored object of one kind, including its secrets. */
export type ConfigBody<K extends ConfigKind> = z.output<(typeof CONFIG_KINDS)[K]['schema']>;
/** Kinds with at most one object in a site, with the key `site`. */
export const SINGLE_KINDS: ReadonlySet<ConfigKind> = new Set<ConfigKind>(['settings', 'network']);
export const KINDS = Object.keys(CONFIG_KINDS) as readonly ConfigKind[];
/** Fields that are accepted and never returned. */
export const CONFIG_SECRETS: Readonly<Record<ConfigKind, readonly string[]>> = Object.fromEntries(
  KINDS.map((kind) => [
    kind,
    Object.entries(CONFIG_KINDS[kind].schema.shape)
      .filter(([, field]) => (field as z.ZodType).meta()?.['writeOnly'] === true)
      .map(([name]) => name),
  ]),
) as unknown as Record<ConfigKind, readonly string[]>;
