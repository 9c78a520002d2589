/** The other engines of a site, as the leading node reaches them: by their nodes, with a proof of its term. */
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import { awayError } from '../adapters/asterisk/apply/joined-config.ts';
import type { FarConfig } from '../adapters/asterisk/apply/joined-config.ts';
import type { ManagerTarget } from '../adapters/asterisk/link.ts';
import { ServiceError, messageOf } from '../core/errors.ts';
import { bracketed } from '../core/networks.ts';
import { unseal } from '../core/seal.ts';
import { SILENT_SECONDS } from '../features/nodes/state.ts';
import { PROOF_HEADER, prove } from '../http/node-proof.ts';
import type { CallRecordBatch, CallRecordCheckpoint, CallRecords } from '../ports/call-records.ts';
import type { Common } from '../ports/common.ts';
import type { OtherEngine } from '../ports/site.ts';
import type { SeenNode, SiteNodes } from '../ports/site-nodes.ts';
import type { Voicemail } from '../ports/voicemail.ts';
import type { Config } from './config.ts';
import {
  BEAT_MS,
  BODY_HEADER,
  HOME_ANSWERS,
  HOME_PATH,
  MANAGER_PATH,
  ManagerAccounts,
  RecordBeat,
  RecordLine,
  bodyHash,
  homeParts,
} from './home-calls.ts';
import type { HomeAnswers, HomeCall, LeaderProof } from './home-calls.ts';
import { refusalOf } from './leader.ts';

/** Limits, in ms, of a request that the node answers at once and of one for which its engine works. */
const SHORT_MS = 5_000;
const LONG_MS = 120_000;
const DIAL_MS = 2_000;
const LOOK_MS = 1_000;
const RETRY_MS = 1_000;
const SILENT_MS = 3 * BEAT_MS;
const SHORT: ReadonlySet<HomeCall['op']> = new Set(['accounts', 'disk', 'read', 'unsettle']);

/** SIP address of the engine of this node for the other nodes. */
export const sipOf = ({ sipListen: { host, port } }: Pick<Config, 'sipListen'>): string =>
  `${bracketed(host)}:${port}`;

/** Parses a text of `sipOf`; null where its host is no IP address. */
export function readSip(sip: string | null | undefined): Omit<OtherEngine, 'node'> | null {
  const [, host = '', port] = /^\[?([0-9a-fA-F.:]+?)\]?:(\d{1,5})$/.exec(sip ?? '') ?? [];
  return isIP(host) === 0 ? null : { host, port: Number(port) };
}
/** True for an address such as 0.0.0.0, which means all addresses of a machine and which no other machine can reach. */
export const isEveryAddress = (host: string): boolean => host === '0.0.0.0' || host === '::';

export interface HomeEnginesDeps extends Common<'clock' | 'log'> {
  /** Null where the site has one node. */
  readonly nodes: Pick<SiteNodes, 'list'> | null;
  readonly secret: string;
  readonly sealingKey: Buffer;
  readonly own: () => LeaderProof;
}
export class HomeEngines {
  readonly #deps: HomeEnginesDeps;
  readonly #engines = new Map<string, HomeEngine>();
  #seen: { readonly at: number; readonly nodes: Promise<readonly SeenNode[]> } | null = null;
  #hosts: readonly string[] = [];
  readonly #stop = new AbortController();
  constructor(deps: HomeEnginesDeps) {
    this.#deps = deps;
  }
  of(node: string): HomeEngine {
    let one = this.#engines.get(node);
    if (one === undefined) {
      const url = (): Promise<string | null> => this.#urlOf(node);
      one = new HomeEngine(node, { ...this.#deps, stop: this.#stop.signal }, url);
      this.#engines.set(node, one);
    }
    return one;
  }
  /** Ends the retries. Under the next term each node reads the applied configuration by itself. */
  close(): void {
    this.#stop.abort();
  }
  /** Addresses of the engines of all nodes, as they were last seen; standbys included, because they probe the other engines. */
  hosts(): readonly string[] {
    void this.#look().catch(() => undefined);
    return this.#hosts;
  }
  async #look(): Promise<readonly SeenNode[]> {
    const { clock, nodes } = this.#deps;
    if (nodes === null) return [];
    if (this.#seen === null || clock.now() - this.#seen.at > LOOK_MS)
      this.#seen = { at: clock.now(), nodes: nodes.list() };
    const seen = await this.#seen.nodes;
    this.#hosts = seen.flatMap(({ sip }) => {
      const host = readSip(sip)?.host;
      return host === undefined || isEveryAddress(host) ? [] : [host];
    });
    return seen;
  }
  /** Address of a node that answers; null for one that is away. */
  async #urlOf(name: string): Promise<string | null> {
    const found = (await this.#look()).find((node) => node.name === name && node.role === 'home');
    return found === undefined || found.seconds > SILENT_SECONDS ? null : found.url;
  }
}

export class HomeEngine implements FarConfig {
  readonly node: string;
  readonly #deps: HomeEnginesDeps & { readonly stop: AbortSignal };
  readonly #url: () => Promise<string | null>;
  #unsettled = false;
  /** Time in ms when its call records were last read and stored to their end; null before the first time. */
  #caughtUp: number | null = null;
  constructor(
    node: string,
    deps: HomeEnginesDeps & { readonly stop: AbortSignal },
    url: () => Promise<string | null>,
  ) {
    this.node = node;
    this.#deps = deps;
    this.#url = url;
  }
  /** Address of its manager interface; null while its node is away. */
  async target(): Promise<ManagerTarget | null> {
    if ((await this.#url()) === null) return null;
    const { sealed } = await this.#ask({ op: 'accounts' });
    const text = unseal(this.#deps.sealingKey, Buffer.from(sealed, 'base64'));
    if (text === null) throw new Error(`the node ${this.node} has another site key`);
    const accounts = readAs(ManagerAccounts, JSON.parse(text.toString()));
    return { host: this.node, port: 0, ...accounts, dial: (signal) => this.#dial(signal) };
  }
  readonly records: CallRecords = {
    read: (from, signal) => this.#records(from, signal),
    caughtUpAt: () => this.#caughtUp,
  };
  readonly voicemail: Voicemail = {
    page: (after, signal) => this.#ask({ op: 'voicemail', after }, signal),
    audio: async (item, signal) => {
      const { audio } = await this.#ask({ op: 'voicemail_audio', item }, signal);
      return audio?.map(({ name, base64 }) => ({ name, bytes: Buffer.from(base64, 'base64') })) ?? null;
    },
    remove: async (items, signal) =>
      (await this.#ask({ op: 'voicemail_remove', items: [...items] }, signal)).removed,
  };
  async disk() {
    return await this.#ask({ op: 'disk' });
  }
  async read(backup: boolean): Promise<string | null> {
    return (await this.#ask({ op: 'read', backup })).text;
  }
  async prove(text: string, signal?: AbortSignal) {
    return (await this.#ask({ op: 'prove', text }, signal)).problems;
  }
  async put(text: string): Promise<void> {
    await this.#ask({ op: 'put', text });
  }
  async reload(signal?: AbortSignal): Promise<void> {
    await this.#ask({ op: 'reload' }, signal);
  }
  async verify(depth: 'all' | 'changed', signal?: AbortSignal) {
    return (await this.#ask({ op: 'verify', depth }, signal)).problems;
  }
  unsettle(): void {
    if (this.#unsettled) return;
    this.#unsettled = true;
    void this.#untilSettled();
  }
  async #untilSettled(): Promise<void> {
    const { clock, stop } = this.#deps;
    while (this.#unsettled) {
      await clock.sleep(RETRY_MS, stop).catch(() => undefined);
      if (stop.aborted) return;
      await this.#ask({ op: 'unsettle' }).then(
        () => (this.#unsettled = false),
        () => undefined,
      );
    }
  }

  #headers(path: string, payload: string): Record<string, string> {
    const { own, secret } = this.#deps;
    const body = bodyHash(payload);
    // Makes proofs of one millisecond differ, because a node accepts each proof once.
    const said = { ...own(), once: randomUUID() };
    return { [BODY_HEADER]: body, [PROOF_HEADER]: prove(secret, said, homeParts(this.node, path, body)) };
  }
  async #needUrl(): Promise<string> {
    const url = await this.#url();
    if (url === null) throw awayError(this.node, 'its node does not report');
    return url;
  }
  async #ask<O extends keyof HomeAnswers>(
    call: HomeCall & { readonly op: O },
    stop?: AbortSignal,
  ): Promise<HomeAnswers[O]> {
    const url = await this.#needUrl();
    const limit = AbortSignal.timeout(SHORT.has(call.op) ? SHORT_MS : LONG_MS);
    try {
      const response = await this.#post(
        url,
        call,
        stop === undefined ? limit : AbortSignal.any([limit, stop]),
      );
      const body: unknown = await response.json();
      if (response.ok) return readAs(HOME_ANSWERS[call.op] as unknown as z.ZodType<HomeAnswers[O]>, body);
      throw refusalOf(body);
    } catch (error) {
      if (error instanceof ServiceError && error.code !== 'not_found') throw error;
      stop?.throwIfAborted();
      throw awayError(this.node, error);
    }
  }
  #post(url: string, call: HomeCall, signal: AbortSignal): Promise<Response> {
    const body = JSON.stringify(call);
    const headers = { 'content-type': 'application/json', ...this.#headers(HOME_PATH, body) };
    return fetch(new URL(HOME_PATH, url), { method: 'POST', headers, body, redirect: 'error', signal });
  }
  async #dial(stop?: AbortSignal): Promise<Duplex> {
    const url = new URL(MANAGER_PATH, await this.#needUrl());
    const limit = AbortSignal.timeout(DIAL_MS);
    const signal = stop === undefined ? limit : AbortSignal.any([limit, stop]);
    signal.throwIfAborted();
    return await new Promise<Duplex>((resolve, reject) => {
      const { request } = url.protocol === 'https:' ? https : http;
      const out = request(url, {
        headers: { connection: 'Upgrade', upgrade: 'ami', ...this.#headers(MANAGER_PATH, '') },
        agent: false,
      });
      const abort = (): void => void out.destroy(new Error('no answer'));
      signal.addEventListener('abort', abort, { once: true });
      out.once('upgrade', (_answer, socket, head) => {
        signal.removeEventListener('abort', abort);
        socket.setNoDelay(true).setKeepAlive(true);
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      out.once('response', (answer) => {
        answer.resume();
        reject(new Error(`the node ${this.node} refused with ${answer.statusCode}`));
      });
      out.once('error', reject);
      out.end();
    });
  }
  async *#records(from: CallRecordCheckpoint | null, signal: AbortSignal): AsyncGenerator<CallRecordBatch> {
    const { clock, log } = this.#deps;
    let at = from;
    let said = '';
    while (!signal.aborted) {
      try {
        const url = await this.#url();
        if (url !== null)
          for await (const batch of this.#stream(url, at, signal)) {
            said = '';
            yield batch;
            at = batch.checkpoint;
          }
      } catch (error) {
        if (signal.aborted) return;
        const words = messageOf(error);
        if (words !== said)
          log.warn(
            { node: this.node, error: words },
            'call records of another engine cannot be read; retrying',
          );
        said = words;
      }
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }
  async *#stream(
    url: string,
    from: CallRecordCheckpoint | null,
    stop: AbortSignal,
  ): AsyncGenerator<CallRecordBatch> {
    const silent = new AbortController();
    const timer = setTimeout(() => silent.abort(new Error('it is silent')), SILENT_MS);
    const signal = AbortSignal.any([stop, silent.signal]);
    try {
      const began = this.#deps.clock.now();
      const response = await this.#post(url, { op: 'records', from, beats: true }, signal);
      if (!response.ok || response.body === null) throw refusalOf(await response.json());
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body) {
        timer.refresh();
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
        rest = lines.pop()!;
        if (rest.length > MOST_LINE) throw new Error('a line is too long');
        for (const line of lines) {
          const now = this.#deps.clock.now() - began;
          const given: unknown = line === '' ? earlier(now) : JSON.parse(line);
          const beat = RecordBeat.safeParse(given).data;
          if (beat === undefined) yield readAs(RecordLine, given) as unknown as CallRecordBatch;
          // The line may have waited behind batches that were stored slowly.
          else if (beat.read_ms !== null)
            this.#caughtUp = this.#deps.clock.now() - Math.max(0, now - beat.read_ms);
        }
        timer.refresh();
      }
    } finally {
      clearTimeout(timer);
      silent.abort();
    }
  }
}
const MOST_LINE = 16 * 1024 * 1024;
/** Meaning of the empty line of a node of an earlier version: its records count as read. `read_ms`: the present time. */
const earlier = (read_ms: number): z.infer<typeof RecordBeat> => ({ read_ms });
function readAs<T extends z.ZodType>(schema: T, given: unknown): z.infer<T> {
  const read = schema.safeParse(given);
  if (!read.success) throw new Error('its node runs another version of the service');
  return read.data;
}
