import type { TopicNoun } from '../rights/hearing.ts';
import type { Objects } from '../rights/rights.ts';
import type { Caller } from './http.ts';

/**
 * The state that a topic's events lead on from. Called synchronously when everything the model knows is committed, so that
 * what is returned is exactly the state at the journal's head. JSON-ready, with no secret in it.
 */
export interface TopicSource {
  /** `objects`: the extensions or queues that may be shown; null for all. */
  snapshot(objects: Objects): unknown;
}
/** One source for each noun; `calls` is asked with the extensions whose calls may be shown. */
export type TopicSources = Readonly<Record<TopicNoun, TopicSource>>;

/** What the stream is told by those who sign people and machines in. */
export interface Credentials {
  /** Called with each session that ended; returns the way to stop. */
  onSessionEnded(listener: (sessionId: number) => void): () => void;
  /** Called with each API key that works no longer, or with other rights. */
  onKeyEnded(listener: (keyId: number) => void): () => void;
  /** A stream that is open uses its session. When the session now ends, in milliseconds since 1970; null where it has. */
  use(caller: Caller): Promise<number | null>;
}
