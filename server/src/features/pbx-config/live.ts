import type { SiteEvent } from '../../ports/live.ts';
import type { PbxConfig } from './config.ts';
import { sharedPhones } from './site.ts';

/** Event with the data of the site that the live model needs. */
export const siteEvent = (config: PbxConfig, at: number): SiteEvent => ({
  type: 'site.changed',
  at,
  extensions: config.people
    .filter(({ person }) => person.active)
    .map(({ person: { extension, name, endpoints } }) => ({ extension, name, endpoints })),
  queues: config.queues.map(({ name, agents, ring_seconds, wrap_up_seconds, max_wait_seconds }) => ({
    name,
    agents,
    ring_seconds,
    wrap_up_seconds,
    max_wait_seconds,
  })),
  trunks: config.trunks
    .filter(({ enabled }) => enabled)
    .map(({ name, title, endpoint, register }) => ({ name, title, endpoint, registers: register })),
  pause_reasons: config.pause_reasons.map(({ id, longest_seconds }) => ({ id, longest_seconds })),
  shared_phones: sharedPhones(config.phones).map(({ name, endpoint }) => ({ name, endpoint })),
  services: [...config.services, ...config.conferences, ...config.mailboxes].map(({ number }) => number),
});

/** Dialled numbers besides those of people and queues. */
export const otherNumbers = (config: PbxConfig): string[] =>
  [
    ...config.services,
    ...config.ring_groups,
    ...config.menus,
    ...config.time_conditions,
    ...config.conferences,
    ...config.mailboxes,
  ].flatMap(({ number }) => number ?? []);

/** Initial dynamic members of each queue, for a site that has stored none. */
export const dynamicMembers = (config: PbxConfig): { extension: string; queue: string }[] =>
  config.queues.flatMap(({ name, agents, static_members }) =>
    agents.filter((e) => !static_members.includes(e)).map((extension) => ({ extension, queue: name })),
  );
