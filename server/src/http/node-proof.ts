/** Signed statements between the nodes of a site, by a secret that only the nodes have. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/** Origin of a request that another node forwards. */
export interface Origin {
  /** Address of the client. */
  readonly ip: string;
  readonly protocol: 'http' | 'https';
  /** `host[:port]` by which the client reached the site. */
  readonly host: string;
}
export const PROOF_HEADER = 'offhook-forwarded';
/** Newest seq of the events that a forwarded write caused; the node that forwarded it waits for them. */
export const SEQ_HEADER = 'offhook-seq';
/** Longest validity of a proof, in ms, because the clocks of two machines may differ. */
const CLOCKS_MS = 15 * 60_000;
const MAX_PROOF = 2_048;

const sumOf = (secret: string, parts: readonly string[]): Buffer =>
  createHmac('sha256', secret).update(JSON.stringify(parts)).digest();

/** Header that proves the statement `said` for these `parts`; at most 2 KiB. */
export function prove(secret: string, said: object, parts: readonly string[], now = Date.now()): string {
  const text = Buffer.from(JSON.stringify(said)).toString('base64url');
  const at = now.toString(36);
  return `${text}.${at}.${sumOf(secret, [text, at, ...parts]).toString('base64url')}`;
}
/** The statement of a proof; null unless a node of this site made it for these `parts` within `CLOCKS_MS`. */
export function proven(secret: string, header: unknown, parts: readonly string[], now = Date.now()): unknown {
  if (typeof header !== 'string' || header.length > MAX_PROOF) return null;
  const [text = '', at = '', sum = '', ...more] = header.split('.');
  if (more.length > 0 || !/^[0-9a-z]{1,11}$/.test(at)) return null;
  if (Math.abs(now - Number.parseInt(at, 36)) > CLOCKS_MS) return null;
  const [given, right] = [Buffer.from(sum, 'base64url'), sumOf(secret, [text, at, ...parts])];
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  return JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
}
/** Parts of a request that the proof of a forwarding node covers. */
export const partsOf = ({ method, url }: { readonly method?: string; readonly url?: string }): string[] => [
  'request',
  method ?? '',
  url ?? '',
];

/** Requests that a web node of this site forwarded. */
const forwarded = new WeakSet<FastifyRequest>();
export const wasForwarded = (request: FastifyRequest): boolean => forwarded.has(request);
/** Sets address, protocol and host of a forwarded request to those of its client; any other stays unchanged. */
export function readOrigin(request: FastifyRequest, secret: string): void {
  const header = request.raw.headers[PROOF_HEADER];
  if (header === undefined) return;
  const { method, originalUrl: url } = request;
  const origin = proven(secret, header, partsOf({ method, url })) as Origin | null;
  if (origin === null) return;
  forwarded.add(request);
  for (const name of ['ip', 'protocol', 'host'] as const)
    Object.defineProperty(request, name, { value: origin[name] });
}
