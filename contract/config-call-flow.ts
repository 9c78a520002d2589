/** Configuration of what a call passes or plays: menus, opening hours, conferences, parking lots, sounds, service numbers. */
import { z } from 'zod';
import { Destination, OwnNumber, Pin, Seconds, Slug, SoundRef, Title, ref, secret } from './config-fields.ts';

export const MenuConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber.nullable().default(null),
    title: Title,
    greeting: SoundRef.nullable().default(null),
    choices: z
      .array(
        z.strictObject({ key: z.string().regex(/^[0-9*#]$/, 'must be one key of 0-9 * #'), to: Destination }),
      )
      .max(12)
      .default([]),
    dial_extensions: z.boolean().default(false).describe('A caller who knows an extension may dial it.'),
    timeout_seconds: Seconds(1, 30).default(5),
    attempts: z.int().min(1).max(10).default(3),
    otherwise: Destination.describe('After the last attempt.'),
  })
  .meta({ id: 'MenuConfig' });

const Day = z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']);
/** `9:00` is accepted and stored as `09:00`. */
const Clock = z
  .string()
  .overwrite((time) => (/^[0-9]:[0-5][0-9]$/.test(time) ? `0${time}` : time))
  .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$/, 'must be a time such as 08:30');
export const TimeConditionConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber.nullable().default(null),
    title: Title,
    hours: z
      .array(
        z
          .strictObject({ days: z.array(Day).min(1).max(7), from: Clock, to: Clock })
          .refine((h) => h.from !== h.to && h.from !== '24:00', {
            path: ['to'],
            message: 'must not be equal to from; a complete day is 00:00 to 24:00',
          }),
      )
      .max(50)
      .default([])
      .describe("Open hours in the site's zone; `to` is not included, one before `from` is of the next day."),
    holidays: z.array(ref('holidays')).max(20).default([]),
    override: z.enum(['none', 'open', 'closed']).default('none').describe('Night switch.'),
    switched_by: z
      .array(ref('extension'))
      .max(200)
      .refine((d) => new Set(d).size === d.length, 'must contain each value once')
      .default([])
      .describe('Extensions that may switch it by a key or a feature code; it needs a `number` for that.'),
    when_open: Destination,
    when_closed: Destination,
    on_holiday: Destination.nullable().default(null).describe('Null for `when_closed`.'),
  })
  .meta({ id: 'TimeConditionConfig' });
export const HolidaysConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    days: z
      .array(
        z
          .strictObject({
            title: Title,
            year: z.int().min(2000).max(2100).nullable().default(null).describe('Null for every year.'),
            month: z.int().min(1).max(12),
            day: z.int().min(1).max(31),
          })
          .refine((d) => d.day <= new Date(Date.UTC(d.year ?? 2000, d.month, 0)).getUTCDate(), {
            path: ['day'],
            message: 'the month has no such day',
          }),
      )
      .max(400)
      .default([]),
  })
  .meta({ id: 'HolidaysConfig' });

export const ConferenceConfig = z
  .strictObject({
    name: Slug,
    number: OwnNumber,
    title: Title,
    pin: secret(Pin.nullable()),
    leader_pin: secret(Pin.nullable()),
    wait_for_leader: z.boolean().default(false),
    max_members: z.int().min(0).max(500).default(50).describe('0 for any number.'),
    music_class: ref('music_class').nullable().default(null).describe('Heard alone.'),
    announce: z.boolean().default(true).describe('Plays a tone when a party joins or leaves.'),
  })
  .meta({ id: 'ConferenceConfig' });
export const ParkingLotConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    number: OwnNumber,
    first_slot: z.int().min(10).max(999_999_999),
    last_slot: z.int().min(10).max(999_999_999),
    timeout_seconds: Seconds(10, 86_400).default(120),
    music_class: ref('music_class').nullable().default(null),
  })
  .refine((p) => p.last_slot >= p.first_slot && p.last_slot - p.first_slot <= 999, {
    path: ['last_slot'],
    message: 'not 1 to 1000 slots, first to last',
  })
  .meta({ id: 'ParkingLotConfig' });
export const MusicClassConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    prompts: z.array(ref('prompt')).min(1).max(100),
    order: z.enum(['random', 'as_listed']).default('random'),
  })
  .meta({ id: 'MusicClassConfig' });
export const PromptConfig = z
  .strictObject({
    name: Slug,
    title: Title,
    sound: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be the id of a sound')
      .describe('Of an upload to `/api/v1/config/sounds`.'),
  })
  .meta({ id: 'PromptConfig' });

export const FeatureCodeConfig = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-z_]{1,30}\.[a-z_]{1,30}$/, 'must be the id of a feature code, such as agent.login')
      .describe('As docs/feature-codes.md lists them.'),
    code: z.string().regex(/^[*#][0-9*#]{1,6}$/, 'must be * or # and 1 to 6 digits'),
    enabled: z.boolean().default(true),
  })
  .meta({ id: 'FeatureCodeConfig' });
export const ServiceConfig = z
  .strictObject({
    number: z.string().regex(/^(?:[1-9][0-9]{1,9}|[*#][0-9*#]{1,6})$/, 'must be a number or a code'),
    kind: z.enum(['echo', 'music_on_hold', 'voicemail']),
    title: Title,
  })
  .meta({ id: 'ServiceConfig' });
