import { z } from 'zod';

/** What a link to another program may have of the call. */
export const LINK_PLACEHOLDERS = ['number', 'name', 'conversation', 'queue'] as const;

const PLACEHOLDER = /\{([^{}]*)\}/g;
/** The host is written out, so that nothing of a caller's can choose where a page leads. */
const LINK = /^https?:\/\/[^\s/?#{}@\\\p{Cc}]+(?:[/?#][^\s\\\p{Cc}]*)?$/iu;

export const CrmLink = z
  .string()
  .max(1_000)
  .refine(
    (link) => LINK.test(link) && URL.canParse(link.replaceAll(PLACEHOLDER, 'x')),
    'not an address that begins with https:// or http:// and a host',
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
/** What an administrator sets for the console. */
export const ConsoleSettings = z
  .strictObject({
    crm_link: CrmLink.nullable(),
    confirm_supervision: z
      .boolean()
      .describe(
        'True: to listen, whisper or barge a person has to have confirmed the session in the last 5 minutes (`POST /api/v1/session/confirm`).',
      ),
    second_factor: SecondFactorLevel.optional().describe(
      'People of this level and above need a second factor: a session without one answers 403 `second_factor_required` to all but setting one up. API keys are not asked. Left out it stays as it is; `off` at first.',
    ),
  })
  .meta({ id: 'ConsoleSettings' });
export type ConsoleSettings = z.infer<typeof ConsoleSettings>;
export const ConsoleSettingsReply = z.object({
  success: z.literal(true),
  settings: z.object({
    ...ConsoleSettings.shape,
    site_zone: z.string().describe('IANA name of the zone of this site; set by `OFFHOOK_SITE_ZONE`.'),
  }),
});
export type ConsoleSettingsReply = z.infer<typeof ConsoleSettingsReply>;
export const INITIAL_CONSOLE_SETTINGS: ConsoleSettings = {
  crm_link: null,
  confirm_supervision: false,
  second_factor: 'off',
};
