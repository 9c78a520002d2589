/** Configuration of queues and ring groups. */
import { z } from 'zod';
import {
  Destination,
  Home,
  OwnNumber,
  Recording,
  Seconds,
  Slug,
  SoundRef,
  Title,
  ref,
} from './config-fields.ts';

export const QueueConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber,
    title: Title,
    strategy: z
      .enum(['ringall', 'leastrecent', 'fewestcalls', 'random', 'rrmemory', 'linear', 'rrordered', 'wrandom'])
      .default('ringall'),
    members: z
      .array(
        z.strictObject({
          extension: ref('extension'),
          static: z.boolean().default(false).describe('A member by configuration that cannot sign out.'),
          penalty: z
            .int()
            .min(0)
            .max(100)
            .default(0)
            .describe(
              'Agents with a higher value ring later; an agent that signs in itself gets this value.',
            ),
        }),
      )
      .max(1_000)
      .default([]),
    ring_seconds: Seconds(1, 600).default(15).describe('How long one agent rings.'),
    retry_seconds: Seconds(1, 60)
      .default(1)
      .describe('Between two rounds of ringing; at least 5 with `ring_in_use`.'),
    wrap_up_seconds: Seconds(0, 3_600).default(0),
    max_wait_seconds: Seconds(0, 86_400).default(0).describe('0 for ever.'),
    max_callers: z.int().min(0).max(10_000).default(0).describe('0 for any number.'),
    weight: z
      .int()
      .min(0)
      .max(100)
      .default(0)
      .describe('The queue with more weight gets a shared agent first.'),
    ring_in_use: z.boolean().default(false).describe('Also rings agents who are in another call.'),
    join_when_empty: z.boolean().default(true),
    leave_when_empty: z.boolean().default(false),
    exit: z
      .strictObject({ key: z.string().regex(/^[0-9*#]$/, 'must be one key of 0-9 * #'), to: Destination })
      .nullable()
      .default(null)
      .describe('Key with which a waiting caller leaves the queue.'),
    otherwise: Destination.nullable()
      .default(null)
      .describe('Target of callers nobody answered; null: an announcement and the end of the call.'),
    recording: Recording,
    music_class: ref('music_class').nullable().default(null),
    announcement: SoundRef.nullable().default(null).describe('Played once, before the caller waits.'),
    agent_announcement: SoundRef.nullable().default(null).describe('Played to the agent who answers.'),
    periodic_announcement: z
      .strictObject({ sound: SoundRef, every_seconds: Seconds(10, 3_600) })
      .nullable()
      .default(null),
    announce_position: z.boolean().default(false),
    announce_hold_time: z.boolean().default(false),
    announce_every_seconds: Seconds(0, 3_600).default(0).describe('Position and hold time; 0 for never.'),
    announce_to_first: z
      .boolean()
      .default(false)
      .describe('The first caller hears announcements too; agents ring only after them.'),
    service_level_seconds: Seconds(1, 3_600).default(20),
    thresholds: z
      .strictObject({
        waiting: z
          .strictObject({ warn: z.int().min(1).max(10_000), alarm: z.int().min(1).max(10_000) })
          .nullable()
          .default(null),
        longest_wait_seconds: z
          .strictObject({ warn: Seconds(1, 86_400), alarm: Seconds(1, 86_400) })
          .nullable()
          .default(null),
        service_level_percent: z
          .strictObject({ warn: z.int().min(0).max(100), alarm: z.int().min(0).max(100) })
          .nullable()
          .default(null),
      })
      .default({ waiting: null, longest_wait_seconds: null, service_level_percent: null })
      .describe('When a wallboard marks this queue.'),
    engine: Home.describe(
      'Engine at which its callers wait, that of all its members; null for that of the node that leads the site.',
    ),
  })
  .meta({ id: 'QueueConfig' });

export const RingGroupConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber,
    title: Title,
    strategy: z.enum(['all', 'in_order']).default('all'),
    members: z.array(ref('extension')).min(1).max(50).describe('Extensions.'),
    ring_seconds: Seconds(5, 300).default(20).describe('All at once, or one after the other.'),
    recording: Recording,
    otherwise: Destination.nullable().default(null),
  })
  .meta({ id: 'RingGroupConfig' });
