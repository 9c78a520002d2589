import type { Subject } from '../numbers/subject.ts';

/** Number of rows per kind of record, e.g. `conversations`. */
export type Places = Readonly<Record<string, number>>;
/** One item of personal data. */
export interface KnownAbout {
  readonly kind: string;
  readonly value: unknown;
}
/**
 * Personal data kept by one part of the service. Erasing and counting read all of it, in small steps, and can be repeated after
 * an interruption. All throw `store_unavailable`, and the signal's reason when it is aborted.
 */
export interface PersonalData {
  readonly name: string;
  /** Present occurrences of the subject. */
  count(subject: Subject, signal: AbortSignal): Promise<Places>;
  /** Replaces the subject by `placeholder`, the same everywhere. Resolves with the number of changed rows. */
  erase(subject: Subject, placeholder: string, signal: AbortSignal): Promise<Places>;
  /** All data about the subject, in a form for that person. `usernames`: those of the person of that extension. */
  collect?(subject: Subject, usernames: readonly string[], signal: AbortSignal): AsyncIterable<KnownAbout>;
}
