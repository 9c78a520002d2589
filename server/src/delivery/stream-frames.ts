/** Frames of the WebSocket stream: those that the service builds, and the JSON of those that a client sends. */
import type { z } from 'zod';
import type { ServerFrame } from '@offhook/contract/stream.ts';
import { faultsOf } from '../core/check-input.ts';
import { ServiceError } from '../core/errors.ts';
import { checkJson } from '../core/json-check.ts';
import { say } from '../core/said.ts';
import { serverFrame } from '../websocket/frames.ts';
import type { Framing } from './batch.ts';

export type Id = string | number;
export const frameOf = (frame: ServerFrame): Buffer => serverFrame(0x1, Buffer.from(JSON.stringify(frame)));
const EVENT = Buffer.from('{"op":"event","event":');
export const WEBSOCKET: Framing = {
  name: 'websocket',
  chained: true,
  event: (json, _seq, prev) =>
    serverFrame(0x1, Buffer.concat([EVENT, json, Buffer.from(`,"prev":${prev}}`)])),
  snapshot: (topic, cursor, json) =>
    serverFrame(0x1, Buffer.from(`{"op":"snapshot","topic":"${topic}","cursor":${cursor},"data":${json}}`)),
};
const PING = serverFrame(0x9, Buffer.alloc(0));
/** The newest heartbeat, shared by clients with the same position and time. */
let beat = { scanned: -1, time: '', bytes: PING };
export function heartbeatOf(scanned: number, time: string): Buffer {
  if (beat.scanned !== scanned || beat.time !== time)
    beat = { scanned, time, bytes: Buffer.concat([frameOf({ op: 'heartbeat', scanned, time }), PING]) };
  return beat.bytes;
}

export function parsed(message: string): unknown {
  checkJson(message);
  try {
    return JSON.parse(message);
  } catch {
    throw new ServiceError('bad_frame', 'the frame is not JSON');
  }
}
export function idOf(raw: unknown): Id | undefined {
  const id = (raw as { id?: unknown } | null)?.id;
  return (typeof id === 'string' && id.length <= 64) || Number.isSafeInteger(id) ? (id as Id) : undefined;
}
export function invalid(raw: unknown, error: z.ZodError): ServiceError {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    return new ServiceError('bad_frame', 'the frame is not a JSON object');
  }
  const [issue] = error.issues;
  if (issue!.path[0] === 'op')
    return new ServiceError('bad_frame', 'op: must be subscribe, unsubscribe, ping, pong or command');
  const { path, rule } = faultsOf(issue!, raw)[0]!;
  return new ServiceError(
    'invalid_request',
    say`${path || 'frame'}: ${typeof rule === 'string' ? { key: rule, values: [] } : rule}`,
  );
}
