import { z } from 'zod';
import { LEVELS } from './ids.ts';
import { numberOf } from './numbers.ts';

/** Cost class of a number. `feature_code` and `unknown` are never reachable from the API. */
export const DESTINATIONS = [
  'internal',
  'emergency',
  'national',
  'mobile',
  'international',
  'premium',
  'feature_code',
  'unknown',
] as const;
export const Destination = z.enum(DESTINATIONS);
export type Destination = z.infer<typeof Destination>;
export const PermittedDestination = Destination.exclude(['feature_code', 'unknown']);

const Digits = numberOf(/^[0-9]{1,20}$/, 'not 1 to 20 digits');
const PersonLevel = z.enum(LEVELS).exclude(['public']);
/** Limits for calls placed through the API, set by an administrator. */
export const CallSettings = z
  .strictObject({
    enabled: z.boolean().describe('False: the API places and transfers no calls.'),
    allowed: z
      .record(PersonLevel, z.array(PermittedDestination).max(DESTINATIONS.length))
      .describe('Destinations each level may call. API keys have those of `user`.'),
    per_minute: z.int().min(1).max(600).describe('Calls one person may place in a minute.'),
    per_day: z.int().min(1).max(100_000).describe("Calls one person may place on a day of the site's zone."),
    countries_per_day: z.int().min(1).max(200).describe('Different countries one person may call on a day.'),
    caller_ids: z.array(Digits).max(100).describe('Numbers anybody may show beside the own extension.'),
    emergency: z.array(Digits).max(50).describe('Whole numbers; never counted or limited.'),
    prefixes: z
      .array(
        z.strictObject({
          prefix: z
            .string()
            .regex(/^(\+[0-9]{0,15}|[0-9]{1,15})$/, 'must be up to 15 digits, with or without a + in front'),
          destination: PermittedDestination.exclude(['internal', 'emergency']),
        }),
      )
      .max(5_000)
      .describe('The longest prefix decides. `00` in front of a number reads as `+`.'),
  })
  .meta({ id: 'CallSettings' });
export type CallSettings = z.infer<typeof CallSettings>;
export const CallSettingsReply = z.object({ success: z.literal(true), settings: CallSettings });

/** Satellites, international networks and premium rate, also of single countries: targets of fraud. */
const PREMIUM = (
  '+870 +878 +881 +882 +883 +888 +979 +1900 0900 +31900 +31906 +31909 +3290 +3389 +34803 +34806 +34807 +34905 +3989 ' +
  '+41900 +41901 +41906 +43900 +43901 +43930 +43931 +43939 +449 +4590 +46900 +46939 +46944 +4870 +49900 +61190 +90900'
).split(' ');
/** Only internal and emergency numbers, until an administrator changes it. */
export const INITIAL_CALL_SETTINGS: CallSettings = {
  enabled: true,
  allowed: {
    user: ['internal', 'emergency'],
    agent: ['internal', 'emergency'],
    supervisor: ['internal', 'emergency'],
    admin: ['internal', 'emergency'],
  },
  per_minute: 30,
  per_day: 2_000,
  countries_per_day: 5,
  caller_ids: [],
  emergency: ['110', '112', '911', '999'],
  prefixes: [
    { prefix: '+', destination: 'international' },
    { prefix: '0', destination: 'national' },
    ...PREMIUM.map((prefix) => ({ prefix, destination: 'premium' as const })),
  ],
};
