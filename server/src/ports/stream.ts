import type { TopicNoun } from '@offhook/contract/stream.ts';
import type { Objects } from '../rights/rights.ts';
import type { Caller } from './http.ts';

/**
 * The state that a topic's events continue from. Called synchronously when everything the model knows is committed, so that the
 * result is exactly the state at the journal's head. Serialisable as JSON and free of secrets.
 */
export interface TopicSource {
  /**
   * `objects`: the extensions or queues that may be shown; null for all. `since_ms`: what is older belongs to the former holder
   * of the extension, ms since 1970; 0 for no bound.
   */
  snapshot(objects: Objects, since_ms: number): unknown;
}
/** One source per noun; `calls` receives the extensions whose calls may be shown. */
export type TopicSources = Readonly<Record<TopicNoun, TopicSource>>;

/** Sessions and API keys, as the stream uses them. */
export interface Credentials {
  /** Called with each session that ended; returns the unsubscribe function. */
  onSessionEnded(listener: (sessionId: number) => void): () => void;
  /** Called with each API key that was revoked, expired or got other rights. */
  onKeyEnded(listener: (keyId: number) => void): () => void;
  /** Marks the session of an open stream as used. Its expiry, in milliseconds since 1970; null where it has ended. */
  use(caller: Caller): Promise<number | null>;
}
