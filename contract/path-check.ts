import { z } from 'zod';

export const PathWay = z
  .enum([
    'udp',
    'udp_ipv6',
    'tcp',
    'tcp_ipv6',
    'tls',
    'tls_ipv6',
    'web',
    'web_ipv6',
    'turn',
    'turn_ipv6',
    'browser',
    'browser_turn',
  ])
  .describe(
    '`udp`, `tcp`, `tls`: SIP of desk phones, with their media; `web`: SIP over WebSocket through the web port, with ICE and encrypted media as a browser has them; `turn`: media through the TURN server; those with `_ipv6` the same over IPv6, where the site listens there. The service tries these against its own addresses. `browser` and `browser_turn` are tried by the console in the browser of an administrator, directly and through TURN.',
  );
export type PathWay = z.infer<typeof PathWay>;
export const BROWSER_WAYS = ['browser', 'browser_turn'] as const satisfies readonly PathWay[];

export const PathFault = z
  .enum([
    'no_answer',
    'no_connection',
    'no_upgrade',
    'not_this_service',
    'registration_refused',
    'call_refused',
    'call_unanswered',
    'call_missing',
    'call_ended',
    'no_media',
    'no_keys',
    'wrong_media_address',
    'wrong_sip_address',
    'wrong_ice_address',
    'no_relay',
    'no_relay_ports',
    'no_microphone',
    'engine_refused',
    'failed',
  ])
  .describe(
    'What was wrong. `no_answer`: SIP is not answered; `no_connection`: no connection is accepted; `no_upgrade`: HTTP answers, but takes no WebSocket at `/ws`; `not_this_service`: another program answers; `registration_refused`, `call_refused`: with that status; `call_unanswered`, `call_missing`, `call_ended`: a call was not answered, did not arrive, or was ended; `no_media`: the phone does not hear itself; `no_keys`: the keys of encrypted media were not agreed; `wrong_media_address`, `wrong_sip_address`, `wrong_ice_address`: the engine gives phones or browsers an address at which it is not reached; `no_relay`: TURN gives no relay; `no_relay_ports`: each of the ports of `turn_relay_ports` is in use; `no_microphone`: the browser allows this page no microphone, without which it hides its addresses; `engine_refused`: the engine places no call; `failed`: anything else, in `detail`.',
  );
export type PathFault = z.infer<typeof PathFault>;

/** Parts of the sentence on a fault, for readers in other languages. */
const Values = z
  .record(z.string().regex(/^[a-z_]{1,20}$/, 'must be 1 to 20 of a-z _'), z.string().max(300))
  .refine((values) => Object.keys(values).length <= 10, 'must have at most ten values');
export const PathFinding = z.object({
  way: PathWay,
  ok: z.boolean(),
  detail: z.string().max(1_000).describe('One sentence, in English.'),
  fault: PathFault.nullable().describe('Null where the way works.'),
  values: Values.describe('Addresses, ports and reasons in `detail`, by name.'),
});
export type PathFinding = z.infer<typeof PathFinding>;
export const PathResult = PathFinding.extend({
  checked_at: z.iso.datetime(),
  since: z.iso.datetime().describe('Of the first check with this result, ok or not, in a row.'),
}).meta({ id: 'PathResult' });
export type PathResult = z.infer<typeof PathResult>;

const PathCheckState = z.object({
  running: z
    .object({
      started_at: z.iso.datetime(),
      done: z.array(PathWay).describe('Ways whose result is there already.'),
    })
    .nullable()
    .describe('The check that is under way; null for none.'),
  failed: z.string().nullable().describe('Why the last check could not run to its end; null where it did.'),
  ways: z.array(PathResult).describe('The last result of each way that the site has.'),
});
export const PathCheckReply = PathCheckState.extend({ success: z.literal(true) });
export type PathCheckReply = z.infer<typeof PathCheckReply>;

/** Body of `POST /api/v1/path-check/pass`. */
export const NewPathPass = z.strictObject({
  host: z
    .string()
    .regex(/^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$/, 'must be a name or address')
    .nullish()
    .describe(
      'Name or address under which phones outside reach the site; by default the external address of the network.',
    ),
});
export const PathPassReply = z.object({
  success: z.literal(true),
  pass: z
    .record(z.string(), z.unknown())
    .describe(
      'For `npm run doctor -- --from <file>` on another machine. It holds a password: delete it afterwards.',
    ),
  expires_at: z.iso.datetime().describe('Its login at TURN ends then.'),
});

/** Addresses and credentials with which the console tries the ways of this browser. */
export const PathPhoneReply = z.object({
  success: z.literal(true),
  phone: z.object({
    username: z.string(),
    password: z
      .string()
      .describe('Ends after ten to twenty minutes; the account reaches nothing but an echo.'),
    number: z.string().describe('What to call.'),
    domain: z.string(),
    ws_url: z.string(),
    turn: z
      .object({ username: z.string(), credential: z.string(), urls: z.array(z.string()) })
      .nullable()
      .describe('Null where the site has no TURN server.'),
  }),
});
/** Body of `POST /api/v1/path-check/browser`: the findings of the console. */
export const PathBrowserFindings = z.strictObject({
  findings: z
    .array(
      z.strictObject({
        way: z.enum(BROWSER_WAYS),
        ok: z.boolean(),
        detail: z.string().min(1).max(1_000),
        fault: PathFault.nullish(),
        values: Values.optional(),
      }),
    )
    .min(1)
    .max(BROWSER_WAYS.length),
});
export type PathBrowserFindings = z.infer<typeof PathBrowserFindings>;
