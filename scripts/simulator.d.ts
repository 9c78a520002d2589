/**
 * Types of `@offhook/simulator`, written by hand because the types of its modules would need those of the whole
 * service.
 */
export interface SimulatorUser {
  readonly extension: string;
  readonly username: string;
  readonly name: string;
  readonly level: string;
  readonly password: string;
}
export type StoryName =
  | 'inbound answered'
  | 'outbound answered'
  | 'internal answered'
  | 'queue answered'
  | 'queue abandoned'
  | 'blind transfer'
  | 'attended transfer'
  | 'answered elsewhere'
  | 'held'
  | 'voicemail'
  | 'busy'
  | 'missed';
export interface Cast {
  readonly caller: string;
  readonly agent: string;
  readonly other: string;
  readonly queue: string;
  readonly ring_seconds: number;
  readonly talk_seconds: number;
}
type Device = 'sip' | 'webrtc' | 'mobile';
export type Step =
  | { do: 'call'; from: string; to: string }
  | { do: 'answer' | 'hangup' | 'hold' | 'retrieve' | 'complete'; by: string }
  | { do: 'decline'; by: string; busy?: boolean | undefined }
  | { do: 'transfer' | 'consult'; by: string; to: string }
  | { do: 'register' | 'unregister'; by: string; device?: Device | undefined }
  | { do: 'wait'; seconds: number };
export type Fault =
  | { fault: 'answer'; status: 429 | 500 | 502 | 503 | 504; next?: number | undefined }
  | { fault: 'slow'; ms: number }
  | { fault: 'disconnect' | 'gap' | 'epoch' | 'engine_away' }
  | { fault: 'conversation_amended' | 'conversation_merged' }
  | { fault: 'conversation_erased'; number?: string | undefined }
  | { fault: 'duplicate' | 'recording_late'; next?: number | undefined }
  | { fault: 'engine_back'; restarted?: boolean | undefined }
  | { fault: 'command_refused' | 'command_unanswered'; next?: number | undefined };
/** A request to the service, as it was received. */
export interface AskedRequest {
  /** The simulator's time. */
  readonly at: string;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Text of the body, cut at 64 KiB; empty without one. */
  readonly body: string;
  /** Null until it is answered, and for a WebSocket. */
  status: number | null;
  /** True if a fault answered it, so that the service never received it. */
  readonly fault: boolean;
}
export interface Played {
  /** Ids of the calls that the steps began, in order. */
  readonly calls: readonly string[];
}
export interface Simulator extends AsyncDisposable {
  readonly base: string;
  readonly users: readonly SimulatorUser[];
  /** An API key with all rights. */
  readonly key: string;
  /** The simulator's time. */
  now(): Date;
  /** Plays a call by its name, or steps, to its end. */
  play(story: StoryName, cast?: Partial<Cast>): Promise<Played>;
  play(steps: readonly Step[]): Promise<Played>;
  /** Advances time, by seconds or `hh:mm:ss`. */
  advance(by: number | string): Promise<void>;
  fault(fault: Fault): Promise<void>;
  /** The newest requests to the service, oldest first. */
  requests(): readonly AskedRequest[];
  /** Restores the state of the start. */
  reset(): Promise<void>;
  close(): Promise<void>;
}
export interface SimulatorOptions {
  /** Port of the service; 0, the default, takes a free port. */
  readonly port?: number;
  /** Path of a company as YAML, such as `npm run config -- export` writes; the demo company without it. */
  readonly seed?: string | undefined;
  /** Path of a recording with its own company; its events happen as time advances. */
  readonly recording?: string | undefined;
}
/** Starts a simulator; resolves once it is ready. */
export declare function createSimulator(options?: SimulatorOptions): Promise<Simulator>;
