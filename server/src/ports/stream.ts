import type { Objects } from '../core/rights.ts';

/**
 * The state that a topic's events lead on from. Called synchronously when everything the model knows is committed, so that
 * what is returned is exactly the state at the journal's head. JSON-ready, with no secret in it.
 */
export interface TopicSource {
  /** `objects`: the extensions or queues that may be shown; null for all. */
  snapshot(objects: Objects): unknown;
}
/** One source for each noun; `calls` is asked with the extensions whose calls may be shown. */
export type TopicSources = Readonly<
  Record<'presence' | 'calls' | 'queues' | 'agents' | 'history' | 'config' | 'system', TopicSource>
>;
