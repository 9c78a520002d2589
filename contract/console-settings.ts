import { z } from 'zod';

/** Values of the call that a link to another program may contain. */
export const LINK_PLACEHOLDERS = ['number', 'name', 'conversation', 'queue'] as const;

const PLACEHOLDER = /\{([^{}]*)\}/g;
/** The host must be literal, so that a caller's data cannot choose the target. */
const LINK = /^https?:\/\/[^\s/?#{}@\\\p{Cc}]+(?:[/?#][^\s\\\p{Cc}]*)?$/iu;

export const CrmLink = z
  .string()
  .max(1_000)
  .refine(
    (link) => LINK.test(link) && URL.canParse(link.replaceAll(PLACEHOLDER, 'x')),
    'must be an address that begins with https:// or http:// and a host',
  )
  .refine(
    (link) =>
      Array.from(link.matchAll(PLACEHOLDER)).every(([, name]) =>
        (LINK_PLACEHOLDERS as readonly string[]).includes(name ?? ''),
      ) && !/[{}]/.test(link.replaceAll(PLACEHOLDER, '')),
    'in braces there can be {number}, {name}, {conversation} and {queue} only',
  )
  .describe(
    'E.g. `https://crm.example.com/search?phone={number}`. A page puts in `{number}`, `{name}`, `{conversation}` and `{queue}` with `encodeURIComponent`.',
  )
  .meta({ id: 'CrmLink' });
export const SecondFactorLevel = z
  .enum(['off', 'user', 'agent', 'supervisor', 'admin'])
  .meta({ id: 'SecondFactorLevel' });
export type SecondFactorLevel = z.infer<typeof SecondFactorLevel>;
/** Settings of the console by an administrator. */
export const ConsoleSettings = z
  .strictObject({
    crm_link: CrmLink.nullable(),
    confirm_supervision: z
      .boolean()
      .describe(
        'True: listening, whispering and barging require a session confirmed in the last 5 minutes (`POST /api/v1/session/confirm`).',
      ),
    second_factor: SecondFactorLevel.optional().describe(
      'People of this level and above need a second factor: without one every request but its set-up gets 403 `second_factor_required`. API keys are exempt. Unchanged where absent; initially `off`.',
    ),
  })
  .meta({ id: 'ConsoleSettings' });
export type ConsoleSettings = z.infer<typeof ConsoleSettings>;
export const ConsoleSettingsReply = z.object({
  success: z.literal(true),
  settings: z.object({
    ...ConsoleSettings.shape,
    site_zone: z.string().describe('IANA name of the zone of this site; set by `OFFHOOK_SITE_ZONE`.'),
    own_recordings: z
      .boolean()
      .describe(
        'Whether people below supervisor may play recordings of the conversations in which they talked; set by `OFFHOOK_OWN_RECORDINGS`.',
      ),
  }),
});
export type ConsoleSettingsReply = z.infer<typeof ConsoleSettingsReply>;
export const INITIAL_CONSOLE_SETTINGS: ConsoleSettings = {
  crm_link: null,
  confirm_supervision: false,
  second_factor: 'off',
};
