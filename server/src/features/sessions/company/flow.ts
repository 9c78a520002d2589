/** A sign-in by the company that a browser has begun, kept by the browser itself in an encrypted cookie. */
import { z } from 'zod';
import { seal, unseal } from '../../../core/seal.ts';

/** Longest sign-in at the provider. */
const LIFE_SECONDS = 600;
export const FLOW_COOKIE = 'offhook_company';
const FLOW_PATH = '/sign-in/company';
/** The browser sends it with the answer of the provider, which is another site. */
const cookie = (value: string, seconds: number, secure: boolean): string =>
  `${FLOW_COOKIE}=${value}; Path=${FLOW_PATH}; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure ? '; Secure' : ''}`;

const Flow = z.object({
  challenge: z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), again: z.boolean() }),
  /** Page of the console that is shown at the end. */
  to: z.string(),
  /** Words of the console about this browser, for the list of devices. */
  device: z.object({ device_name: z.string().nullable(), platform: z.string().nullable() }),
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

/** Null for a value that this site has not written or that has expired. */
export function readFlow(key: Buffer, value: string, now: number): Flow | null {
  const body = unseal(key, Buffer.from(value, 'base64url'));
  if (body === null) return null;
  const flow = Flow.parse(JSON.parse(body.toString()));
  return flow.until > now ? flow : null;
}
