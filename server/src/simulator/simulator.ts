/** A whole site without an engine: the service on the simulated exchange, at an address that outlasts its restarts. */
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { SCOPES } from '@offhook/contract/keys.ts';
import { z } from 'zod';
import { createVirtualClock } from '../adapters/memory/virtual-clock.ts';
import type { VirtualClock } from '../adapters/memory/virtual-clock.ts';
import { openSimulatedSite } from '../adapters/simulator/site.ts';
import type { SimulatedSite } from '../adapters/simulator/site.ts';
import { readConfig } from '../boot/config.ts';
import type { Config } from '../boot/config.ts';
import { readCredentials } from '../boot/credentials.ts';
import { startService } from '../boot/service.ts';
import type { Service } from '../boot/service.ts';
import { seededChance } from '../core/chance.ts';
import { ServiceError } from '../core/errors.ts';
import type { Objects } from '../features/pbx-config/put.ts';
import type { ApiKeys } from '../features/api-keys/service.ts';
import { LEAST_COST } from '../features/sessions/password.ts';
import type { EngineLoop } from '../journal/engine-loop.ts';
import type { Journal } from '../journal/journal.ts';
import { readCompany } from './company.ts';
import type { Caller } from '../ports/http.ts';
import { answerControl } from './control.ts';
import { applyFault } from './faults.ts';
import type { Fault } from './faults.ts';
import { openFront } from './front.ts';
import type { AskedRequest, Front } from './front.ts';
import { eventsFrom, readRecording } from './recording.ts';
import type { Recording } from './recording.ts';
import { Steps, perform } from './steps.ts';
import type { Step } from './steps.ts';
import { CAST, STORIES } from './stories.ts';
import type { Cast, StoryName } from './stories.ts';

/** A Monday at nine, UTC. */
const START = Date.UTC(2026, 10, 23, 9);
/** Turns of the event loop without a write or an event after which a moment is complete. */
const QUIET_TURNS = 4;
/** Limit of one advance, and of the waits of one play: a day takes seconds of the processor. */
const MOST_DAYS = 31;
const MOST_SECONDS = MOST_DAYS * 86_400;

export interface SimulatorUser {
  readonly extension: string;
  readonly username: string;
  readonly name: string;
  readonly level: string;
  readonly password: string;
}
export interface SimulatorOptions {
  /** 0, the default, selects a free port. */
  readonly port?: number;
  /** Path of a company as YAML, such as `npm run config -- export` writes; the demo company without it. */
  readonly seed?: string | undefined;
  /** Path of a recording, which has a company of its own; its events happen as time moves on. */
  readonly recording?: string | undefined;
}
export interface Played {
  /** Ids of the calls that the steps began, in order. */
  readonly calls: readonly string[];
}
export interface Simulator extends AsyncDisposable {
  readonly base: string;
  readonly users: readonly SimulatorUser[];
  /** An API key that may do everything. */
  readonly key: string;
  /** The simulator's time. */
  now(): Date;
  /** Plays a call by its name, or steps, to its end. */
  play(story: StoryName, cast?: Partial<Cast>): Promise<Played>;
  play(steps: readonly z.input<typeof Step>[]): Promise<Played>;
  /** Moves time on, by seconds or `hh:mm:ss`. */
  advance(by: number | string): Promise<void>;
  fault(fault: Fault): Promise<void>;
  /** The newest requests to the service, oldest first. */
  requests(): readonly AskedRequest[];
  /** Returns to the state of the start. */
  reset(): Promise<void>;
  close(): Promise<void>;
}
interface Running {
  readonly service: Service;
  readonly site: SimulatedSite;
  readonly stop: AbortController;
}
const Token = z.object({ token: z.string() });
const Validated = z.object({
  findings: z.array(z.object({ kind: z.string(), key: z.string(), path: z.string(), detail: z.string() })),
});
/** Limit of the findings that the error names. */
const MOST_NAMED = 5;

const secondsOf = (by: number | string): number => {
  if (typeof by === 'number') return by;
  const m = /^(\d{1,4}):([0-5]\d):([0-5]\d)$/.exec(by);
  return m === null ? Number.NaN : Number(m[1]) * 3600 + Number(m[2]) * 60 + Number(m[3]);
};

export class SimulatedService implements Simulator {
  readonly #options: SimulatorOptions;
  /** Ends an advance that is under way. */
  readonly #closing = new AbortController();
  #company!: Objects;
  #chance!: ReturnType<typeof seededChance>;
  #front!: Front;
  #running!: Running;
  #clock!: VirtualClock;
  #parts!: { readonly journal: Journal; readonly loop: EngineLoop; readonly apiKeys: ApiKeys };
  #recording: Recording | null = null;
  /** Ends the replay of the recording, which continues when the service restarts. */
  #replaying = new AbortController();
  /** Writes of the store up to now. */
  #writes = 0;
  #data = '';
  users: readonly SimulatorUser[] = [];
  key = '';
  /** Plays and moves of time, one after the other. */
  #line: Promise<unknown> = Promise.resolve();
  constructor(options: SimulatorOptions) {
    this.#options = options;
  }

  async open(): Promise<this> {
    const { port = 0, seed, recording } = this.#options;
    this.#recording = recording === undefined ? null : await readRecording(recording);
    this.#company = this.#recording?.company ?? (await readCompany(seed));
    await this.#begin();
    try {
      const named = recording ?? seed;
      if (named !== undefined) await this.#checkCompany(named);
      this.#front = await openFront({
        port,
        target: () => this.#running.service.address.port,
        now: () => this.now(),
        control: (request, response) => answerControl(this, request, response),
      });
    } catch (error) {
      await this.#end();
      await fs.rm(this.#data, { recursive: true, force: true });
      throw error;
    }
    return this;
  }
  get base(): string {
    return `http://127.0.0.1:${this.#front.port}`;
  }
  get site(): SimulatedSite {
    return this.#running.site;
  }
  get front(): Front {
    return this.#front;
  }
  now(): Date {
    return new Date(this.#clock.now());
  }
  play(what: StoryName | readonly z.input<typeof Step>[], cast: Partial<Cast> = {}): Promise<Played> {
    const steps = typeof what === 'string' ? STORIES[what]({ ...CAST, ...cast }) : what;
    const parsed = Steps.safeParse(steps);
    if (!parsed.success)
      return Promise.reject(new ServiceError('invalid_request', z.prettifyError(parsed.error)));
    return this.#next(() => this.run(parsed.data));
  }
  /** Performs steps; the caller holds the queue of plays. */
  async run(steps: readonly z.input<typeof Step>[]): Promise<Played> {
    const calls: string[] = [];
    const waits = steps.reduce((sum, step) => sum + (step.do === 'wait' ? step.seconds : 0), 0);
    if (waits > MOST_SECONDS)
      throw new ServiceError('invalid_request', `steps: they wait for ${MOST_DAYS} days at most`);
    // Effects of earlier commands are stored first, so that each run stores the same batches.
    await this.settled();
    for (const step of Steps.parse(steps)) {
      if (step.do === 'wait') await this.#advance(step.seconds);
      else {
        const begun = perform(this.site.world, step);
        if (begun !== null) calls.push(begun);
        await this.#clock.advance(0);
      }
    }
    return { calls };
  }
  advance(by: number | string): Promise<void> {
    const seconds = secondsOf(by);
    if (!(seconds >= 0 && seconds <= MOST_SECONDS)) {
      const detail = `by: expected seconds, or a time such as 00:30:00; at most ${MOST_DAYS} days`;
      return Promise.reject(new ServiceError('invalid_request', detail));
    }
    return this.#next(() => this.#advance(seconds));
  }
  #advance(seconds: number): Promise<void> {
    return this.#clock.advance(seconds * 1000, this.#closing.signal);
  }
  fault(fault: Fault): Promise<void> {
    return this.#next(() => applyFault(this, fault));
  }
  requests(): readonly AskedRequest[] {
    return this.#front.requests;
  }
  reset(): Promise<void> {
    return this.#next(async () => {
      this.#replaying.abort();
      await this.#end();
      await fs.rm(this.#data, { recursive: true, force: true });
      Object.assign(this.#front.faults, { answer: null, slow_ms: 0 });
      this.#front.requests.length = 0;
      await this.#begin();
    });
  }
  /** Resolves once all effects of the present moment are processed and stored. */
  settled(): Promise<void> {
    return this.#clock.advance(0);
  }
  /** Deletes all events up to now from the journal. */
  trimJournal(): void {
    const { journal } = this.#parts;
    journal.trim(journal.head + 1);
  }
  /** Restarts the service without its journal: every cursor then belongs to another epoch. */
  async loseJournal(): Promise<void> {
    await this.#end();
    for (const name of await fs.readdir(this.#data))
      if (name.startsWith('journal.db')) await fs.rm(path.join(this.#data, name));
    await this.#start();
  }
  async close(): Promise<void> {
    this.#closing.abort(new ServiceError('engine_refused', 'the simulator is closed'));
    await this.#line.catch(() => undefined);
    this.#replaying.abort();
    await this.#front[Symbol.asyncDispose]();
    await this.#end();
    await fs.rm(this.#data, { recursive: true, force: true });
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#line.catch(() => undefined).then(work);
    this.#line = done;
    return done;
  }
  async #begin(): Promise<void> {
    this.#data = await fs.mkdtemp(path.join(os.tmpdir(), 'offhook-simulator-'));
    this.#chance = seededChance(JSON.stringify(this.#company));
    this.#clock = createVirtualClock(START, () => this.#settle());
    await this.#start();
    this.users = (await readCredentials(this.#data)).map(
      ({ extension, username, full_name, level, password = '' }) => ({
        extension,
        username,
        name: full_name,
        level,
        password,
      }),
    );
    this.key = await this.#chance(() => this.#newKey());
    this.#replaying = new AbortController();
    if (this.#recording !== null) void this.#replay(this.#recording, this.#replaying.signal);
  }
  /** Publishes each event at its time. */
  async #replay(recording: Recording, signal: AbortSignal): Promise<void> {
    for (const event of eventsFrom(recording, START)) {
      const ms = event.at - this.#clock.now();
      if (ms > 0) await this.#clock.sleep(ms, signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#parts.loop.publish([event]);
    }
  }
  #config(): Config {
    return readConfig({
      OFFHOOK_DATA: this.#data,
      OFFHOOK_LISTEN: '127.0.0.1:0',
      OFFHOOK_SITE_ZONE: 'UTC',
      OFFHOOK_SITE_COUNTRY: 'DE',
      OFFHOOK_SITE_TITLE: 'Offhook simulator',
      OFFHOOK_WEBHOOK_ALLOW: '127.0.0.1',
      OFFHOOK_LOG_LEVEL: 'error',
    });
  }
  async #start(): Promise<void> {
    const stop = new AbortController();
    const opened = Promise.withResolvers<SimulatedSite>();
    const clock = this.#clock;
    const service = await this.#chance(() =>
      startService(this.#config(), stop.signal, () => undefined, {
        clock,
        company: this.#company,
        passwordCost: LEAST_COST,
        // The folder is temporary, and a wait for the disk would differ in each run.
        flusher: { flush: async () => void (this.#writes += 1), close: async () => undefined },
        onCreated: (parts) => (this.#parts = parts),
        openEngineSite: async ({ config }) => {
          opened.resolve(await openSimulatedSite({ data: config.data, clock }));
          return opened.promise;
        },
      }),
    );
    this.#running = { service, site: await opened.promise, stop };
    await this.site.started;
    await clock.advance(0);
  }
  async #end(): Promise<void> {
    this.#running.stop.abort();
    await this.#running.service[Symbol.asyncDispose]();
  }
  /**
   * Resolves once all effects of a moment are complete: callbacks, engine events, call records, and everything that is
   * stored and published as a result.
   */
  async #settle(): Promise<void> {
    for (let [quiet, seen] = [0, -1]; quiet < QUIET_TURNS;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (this.#running === undefined) return;
      await this.site.settled();
      const done = this.#parts.journal.head + this.#writes;
      quiet = done === seen ? quiet + 1 : 0;
      seen = done;
    }
  }
  /** Sends a request to the service itself, not through the front. Throws `engine_refused` for an error status. */
  async ask(method: 'GET' | 'POST', to: string, body?: unknown, token = this.key): Promise<unknown> {
    const { port } = this.#running.service.address;
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (token !== '') headers['authorization'] = `Bearer ${token}`;
    const response = await fetch(`http://127.0.0.1:${port}${to}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok)
      throw new ServiceError('engine_refused', `${to} answered ${response.status}: ${await response.text()}`);
    return response.json();
  }
  /** Token of a new session of an administrator. */
  async signIn(): Promise<string> {
    const { extension, password } = this.users.find(({ level }) => level === 'admin')!;
    const signedIn = await this.ask('POST', '/api/auth/login', { username: extension, password }, '');
    return Token.parse(signedIn).token;
  }
  async #newKey(): Promise<string> {
    const { extension, username } = this.users.find((user) => user.level === 'admin')!;
    const caller: Caller = {
      extension,
      username,
      level: 'admin',
      key: null,
      session_id: 0,
      person_id: 0,
      expires_at: Infinity,
      cookie: false,
    };
    return (await this.#parts.apiKeys.create({ caller, ip: null }, NEW_KEY)).key;
  }
  async #checkCompany(name: string): Promise<void> {
    const { findings } = Validated.parse(await this.ask('POST', '/api/v1/config/validate', {}));
    if (findings.length === 0) return;
    const named = findings
      .slice(0, MOST_NAMED)
      .map((one) => `${one.kind} ${one.key} ${one.path}: ${one.detail}`);
    throw new ServiceError('invalid_request', `${name}: ${named.join('; ')}`);
  }
}
const NEW_KEY = {
  name: 'simulator',
  scopes: [...SCOPES],
  queues: null,
  extensions: null,
  expires_at: null,
};

/** Resolves once the simulator answers requests. */
export const createSimulator = (options: SimulatorOptions = {}): Promise<Simulator> =>
  new SimulatedService(options).open();
