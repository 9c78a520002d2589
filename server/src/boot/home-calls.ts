/** The requests that the node of another engine serves to the leading node: manager interface, call records, voicemail and configuration. */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import net from 'node:net';
import { pipeline } from 'node:stream';
import type { Duplex } from 'node:stream';
import { z } from 'zod';
import { ServiceError } from '../core/errors.ts';
import { checkJson } from '../core/json-check.ts';
import type { Log } from '../core/log.ts';
import { seal } from '../core/seal.ts';
import type { HomeFiles } from '../features/pbx-config/apply/home.ts';
import { PROOF_HEADER, proven } from '../http/node-proof.ts';
import { answerOf, asServiceError } from '../http/problem.ts';
import { refuseUpgrade } from '../http/standby.ts';
import type { CallRecordCheckpoint, CallRecords } from '../ports/call-records.ts';
import type { Voicemail, VoicemailItem } from '../ports/voicemail.ts';

export const HOME_PATH = '/api/nodes/engine';
export const MANAGER_PATH = `${HOME_PATH}/manager`;
/** Limit of a body, in bytes. It is read into memory, because a configuration is parsed as a whole; a large site has a few megabytes. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_CONNECTIONS = 32;
const Checkpoint: z.ZodType<CallRecordCheckpoint> = z.looseObject({
  file: z.string(),
  inode: z.number(),
  offset: z.number(),
  mark: z.string(),
});
const Message = z.object({
  folder: z.string(),
  left_for: z.string().nullable(),
  caller_number: z.string().nullable(),
  caller_name: z.string().nullable(),
  redirected_by: z.string().nullable(),
  received_ms: z.number().nullable(),
  seconds: z.number().nullable(),
});
const Item: z.ZodType<VoicemailItem> = z.object({
  stem: z.string(),
  mark: z.string(),
  mailbox: z.string(),
  former_owner: z.number().nullable(),
  message: Message.nullable(),
});
/** Interval of the lines by which a silent stream of call records is known to be alive. */
export const BEAT_MS = 5_000;

/** A request of the leading node, which may have another version: unknown fields are ignored, an unknown request is refused. */
const HomeCall = z.discriminatedUnion('op', [
  z.object({ op: z.enum(['accounts', 'disk', 'reload', 'unsettle']) }),
  z.object({ op: z.literal('read'), backup: z.boolean() }),
  z.object({ op: z.enum(['prove', 'put']), text: z.string() }),
  z.object({ op: z.literal('verify'), depth: z.enum(['all', 'changed']) }),
  z.object({ op: z.literal('voicemail'), after: z.string().nullable() }),
  z.object({ op: z.literal('voicemail_audio'), item: Item }),
  z.object({ op: z.literal('voicemail_remove'), items: z.array(Item) }),
  z.object({ op: z.literal('records'), from: Checkpoint.nullable(), beats: z.boolean().optional() }),
]);
export type HomeCall = z.infer<typeof HomeCall>;
const Problems = z.object({
  problems: z.array(
    z.object({ object: z.string().nullable(), file: z.string().nullable(), words: z.string() }),
  ),
});
const Account = z.object({ user: z.string(), secret: z.string() });
const Hash = z.string().nullable();
/** Replies of a node by the kind of request; records are lines of `RecordLine`. */
export const HOME_ANSWERS = {
  accounts: z.object({ sealed: z.base64() }),
  disk: z.object({ hash: Hash }),
  read: z.object({ text: z.string().nullable() }),
  prove: Problems,
  put: z.object({}),
  reload: z.object({}),
  verify: Problems,
  unsettle: z.object({}),
  voicemail: z.object({
    items: z.array(Item),
    next: z.string().nullable(),
    unread: z.number().default(0),
  }),
  voicemail_audio: z.object({
    audio: z.array(z.object({ name: z.string(), base64: z.string() })).nullable(),
  }),
  voicemail_remove: z.object({ removed: z.number() }),
} as const;
type Answers = typeof HOME_ANSWERS;
export type HomeAnswers = { readonly [op in keyof Answers]: z.infer<Answers[op]> };
/** Sealed content of the answer to `accounts`. */
export const ManagerAccounts = z.object({ events: Account, actions: Account });
/**
 * A line of a silent stream of call records, if the request has `beats`: time in ms from the begin of this stream to the last
 * moment when all records were read; null until this stream has read them once.
 */
export const RecordBeat = z.object({ read_ms: z.number().nullable() });
/** A batch of call records; what is in a record is of the same version as the leading node. */
export const RecordLine = z.looseObject({
  records: z.array(
    z.looseObject({ type: z.string(), at_us: z.number(), channel: z.string(), call: z.string() }),
  ),
  checkpoint: Checkpoint,
  malformed: z.array(z.unknown()),
  live: z.boolean(),
});
/** Claims of the leading node in each proof. */
export interface LeaderProof {
  readonly node: string;
  readonly term: number;
}
/** Header with the hash of the body, so that a request without a valid proof is refused before its body is read. */
export const BODY_HEADER = 'offhook-body';
export const bodyHash = (payload: string): string => hash('sha256', payload, 'base64url');
/** The request that a proof belongs to; `node` is the node that serves it. */
export const homeParts = (node: string, path: string, body: string): string[] => ['engine', node, path, body];

/** Time for which a used proof is remembered, in ms: longer than it is valid, with differences of clocks. */
const REMEMBERED_MS = 31 * 60_000;
const MOST_REMEMBERED = 20_000;
/** Accepted proofs, so that an intercepted proof cannot be used again. */
export class TakenProofs {
  readonly #taken = new Map<string, number>();
  /** False for a proof that was accepted before. Only valid proofs come here, so strangers cannot fill the memory. */
  take(proof: string, now: number): boolean {
    for (const [one, at] of this.#taken) {
      if (now - at <= REMEMBERED_MS && this.#taken.size < MOST_REMEMBERED) break;
      this.#taken.delete(one);
    }
    if (this.#taken.has(proof)) return false;
    this.#taken.set(proof, now);
    return true;
  }
}
/** Ends the connections of a former leader; terms only grow. */
export class TermGate {
  #term = 0;
  readonly #open = new Set<() => void>();
  /** Called when a new term begins. */
  readonly #raised: () => void;
  constructor(raised: () => void) {
    this.#raised = raised;
  }
  /** Notes a term that the log of the site, or a proof, has. */
  raise(term: number): void {
    if (term <= this.#term) return;
    const first = this.#term === 0;
    this.#term = term;
    for (const end of this.#open) end();
    this.#open.clear();
    if (!first) this.#raised();
  }
  /** Throws `node_not_active` for a former leader. */
  admit(term: number): void {
    this.raise(term);
    if (term !== this.#term) throw new ServiceError('node_not_active', 'another node leads the site');
  }
  /** Calls `end` once another node leads, unless the returned function is called before. */
  open(end: () => void): () => void {
    if (this.#open.size >= MOST_CONNECTIONS)
      throw new ServiceError('overloaded', 'the leading node has too many connections to this engine');
    this.#open.add(end);
    return () => void this.#open.delete(end);
  }
}
export interface HomeCallsDeps {
  readonly node: string;
  readonly secret: string;
  readonly sealingKey: Buffer;
  readonly gate: TermGate;
  readonly files: HomeFiles;
  readonly records: CallRecords;
  readonly voicemail: Voicemail;
  /** Port of the manager interface on loopback; null while no engine runs. */
  readonly manager: () => number | null;
  /** Accounts of the manager interface. */
  readonly accounts: object;
  readonly log: Log;
}
function readCall(payload: string): HomeCall {
  checkJson(payload);
  const read = HomeCall.safeParse(JSON.parse(payload));
  if (!read.success) throw new ServiceError('not_found', 'this node runs another version of the service');
  return read.data;
}
/** Line of a `RecordBeat`; `began`: begin of the stream, in ms since 1970. */
function beatOf(records: CallRecords, began: number): string {
  const at = records.caughtUpAt?.() ?? null;
  // A time before the begin of this stream is that of another stream.
  const read_ms = at === null || at <= began ? null : at - began;
  return `${JSON.stringify({ read_ms } satisfies z.infer<typeof RecordBeat>)}\n`;
}
async function voicemailAnswer(
  voicemail: Voicemail,
  call: HomeCall & { op: 'voicemail' | 'voicemail_audio' | 'voicemail_remove' },
  signal: AbortSignal,
): Promise<object> {
  switch (call.op) {
    case 'voicemail':
      return await voicemail.page(call.after, signal);
    case 'voicemail_audio': {
      const audio = await voicemail.audio(call.item, signal);
      const files = audio?.map(({ name, bytes }) => ({
        name,
        base64: Buffer.from(bytes).toString('base64'),
      }));
      return { audio: files ?? null };
    }
    case 'voicemail_remove':
      return { removed: await voicemail.remove(call.items, signal) };
  }
}
const notFound = (): ServiceError =>
  new ServiceError('not_found', 'there is no such path; the paths are listed in /api/v1/openapi.json');
const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0]!;

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new ServiceError('body_too_large', 'the body is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
export function homeRoutes(deps: HomeCallsDeps) {
  const { accounts, files, gate, log, manager, node, sealingKey, secret } = deps;
  const taken = new TakenProofs();
  /** Throws unless the request comes from the leading node of this site and its proof is new. */
  const check = (request: IncomingMessage): void => {
    const parts = homeParts(node, pathOf(request), String(request.headers[BODY_HEADER]));
    const proof = String(request.headers[PROOF_HEADER]);
    const said = proven(secret, proof, parts) as LeaderProof | null;
    if (said === null || !Number.isSafeInteger(said.term)) throw notFound();
    if (!taken.take(proof.slice(0, proof.lastIndexOf('.')), Date.now())) throw notFound();
    gate.admit(said.term);
  };
  const answer = async (call: HomeCall, signal: AbortSignal): Promise<object> => {
    switch (call.op) {
      case 'accounts':
        return { sealed: seal(sealingKey, Buffer.from(JSON.stringify(accounts))).toString('base64') };
      case 'disk':
        return files.disk();
      case 'read':
        return { text: files.text(call.backup) };
      case 'prove':
        return { problems: await files.prove(call.text, signal) };
      case 'put':
        await files.put(call.text, signal);
        return {};
      case 'reload':
        await files.reload(signal);
        return {};
      case 'verify':
        return { problems: await files.verify(call.depth, signal) };
      case 'unsettle':
        files.unsettle();
        return {};
      case 'records':
        throw notFound();
      default:
        return await voicemailAnswer(deps.voicemail, call, signal);
    }
  };
  /**
   * One line for each batch, and a `RecordBeat` or an empty line in each interval. The leading node stores a batch before it
   * takes the next.
   */
  const records = async (
    { from, beats = false }: HomeCall & { op: 'records' },
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    const began = Date.now();
    const beatLine = (): string => (beats ? beatOf(deps.records, began) : '\n');
    response.write(beatLine());
    const beat = setInterval(() => {
      if (!response.writableNeedDrain) response.write(beatLine());
    }, BEAT_MS);
    try {
      for await (const batch of deps.records.read(from, signal))
        if (!response.write(`${JSON.stringify(batch)}\n`)) await once(response, 'drain', { signal });
    } finally {
      clearInterval(beat);
      response.end();
    }
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const stop = new AbortController();
    response.once('close', () => stop.abort(new Error('the connection ended')));
    check(request);
    // Before the body, so that the number of bodies in memory is bounded.
    const closed = gate.open(() => response.destroy());
    response.once('close', closed);
    const payload = await bodyOf(request);
    if (bodyHash(payload) !== request.headers[BODY_HEADER]) throw notFound();
    const call = readCall(payload);
    if (call.op === 'records') return await records(call, response, stop.signal);
    const body = JSON.stringify(await answer(call, stop.signal));
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(body);
  };
  const refuse = (error: unknown, response: ServerResponse): void => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    const known = asServiceError(error);
    if (known.code === 'internal') log.error({ err: error }, 'a request of the leading node failed');
    const { status, headers, body } = answerOf(known, undefined);
    response.writeHead(status, { ...headers, 'cache-control': 'no-store', connection: 'close' });
    response.end(body);
  };
  return {
    request(request: IncomingMessage, response: ServerResponse): boolean {
      if (request.method !== 'POST' || pathOf(request) !== HOME_PATH) return false;
      serve(request, response).catch((error: unknown) => refuse(error, response));
      return true;
    },
    /** Passes bytes both ways, as fast as the slower side reads them. */
    upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
      if (pathOf(request) !== MANAGER_PATH) return false;
      try {
        check(request);
        const port = manager();
        if (port === null) throw new ServiceError('engine_unavailable', 'there is no engine yet');
        const engine = new net.Socket().setNoDelay(true).setKeepAlive(true);
        const end = (): void => {
          socket.destroy();
          engine.destroy();
        };
        const closed = gate.open(end);
        engine.connect(port, '127.0.0.1');
        socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ami\r\nConnection: Upgrade\r\n\r\n`);
        if (head.length > 0) engine.write(head);
        pipeline(socket, engine, end);
        pipeline(engine, socket, () => {
          closed();
          end();
        });
      } catch (error) {
        refuseUpgrade(socket, asServiceError(error));
      }
      return true;
    },
  };
}
