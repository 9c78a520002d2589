/** A sign-in by the company that a browser has begun, kept by the browser itself in an encrypted cookie. */
import { z } from 'zod';
import { seal, unseal } from '../../../core/seal.ts';
import type { Exchange } from '../../../ports/http.ts';
import { cookieNamed } from '../cookies.ts';

type Request = Exchange['request'];

/** Longest sign-in at the provider. */
const LIFE_SECONDS = 600;
const NAME = 'offhook_company';
const PATH = '/sign-in/company';
/** Over HTTPS only this host can set it, otherwise a neighbour could give a browser a sign-in of its own. */
const nameOf = (secure: boolean): string => (secure ? `__Host-${NAME}` : NAME);
/** The browser sends it with the answer of the provider, which is another site. */
function cookie(value: string, seconds: number, secure: boolean): string {
  const where = secure ? 'Path=/; Secure' : `Path=${PATH}`;
  return `${nameOf(secure)}=${value}; ${where}; HttpOnly; SameSite=Lax; Max-Age=${seconds}`;
}

const Flow = z.object({
  challenge: z.object({
    state: z.string(),
    nonce: z.string(),
    verifier: z.string(),
    again: z.boolean(),
    begun: z.number(),
  }),
  /** Page of the console that is shown at the end. */
  to: z.string(),
  /** Words of the console about this browser, for the list of devices. */
  device: z.object({ device_name: z.string().nullable(), platform: z.string().nullable() }),
  /** True for a window of its own. */
  window: z.boolean(),
  /** User name of the only person who may sign in; null for any. */
  only: z.string().nullable(),
  /** Device cookie of the browser, which it does not send with the answer of another site. */
  known: z.string().nullable(),
  /** Session of the browser at the beginning, which a sign-in replaces and a confirmation confirms. */
  session: z.object({ id: z.number(), person_id: z.number() }).nullable(),
  until: z.number(),
});
export type Flow = z.output<typeof Flow>;

export function flowCookie(key: Buffer, flow: Omit<Flow, 'until'>, now: number, secure: boolean): string {
  const body = JSON.stringify({ ...flow, until: now + LIFE_SECONDS * 1000 } satisfies Flow);
  return cookie(seal(key, Buffer.from(body)).toString('base64url'), LIFE_SECONDS, secure);
}
export const endedFlowCookie = (secure: boolean): string => cookie('', 0, secure);

/** Null for a browser without a sign-in under way, one that has expired, or a cookie that this site has not written. */
export function readFlow(key: Buffer, request: Request, now: number): Flow | null {
  const value = cookieNamed(request, nameOf(isSecure(request)));
  const body = value === undefined ? null : unseal(key, Buffer.from(value, 'base64url'));
  if (body === null) return null;
  const { data: flow } = Flow.safeParse(JSON.parse(body.toString()));
  return flow !== undefined && flow.until > now ? flow : null;
}
export const isSecure = (request: Request): boolean => request.ownOrigin().startsWith('https:');
