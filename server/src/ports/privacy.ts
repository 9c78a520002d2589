import type { Subject } from '../numbers/subject.ts';

/** Numbers of rows by what holds them, e.g. `conversations`. */
export type Places = Readonly<Record<string, number>>;
/** One piece of what is known about somebody. */
export interface KnownAbout {
  readonly kind: string;
  readonly value: unknown;
}
/**
 * What a part of the service keeps about people. Erasing and counting read everything there is, a little at a time, and may
 * be asked for again after they were cut short. All throw `store_unavailable`, and the signal's reason when it is aborted.
 */
export interface PersonalData {
  readonly name: string;
  /** Where the subject is found now. */
  count(subject: Subject, signal: AbortSignal): Promise<Places>;
  /** `placeholder` stands where it stood, the same in every place. Resolves with what was changed. */
  erase(subject: Subject, placeholder: string, signal: AbortSignal): Promise<Places>;
  /** Everything about the subject, for the person to read. `usernames`: of the person of that extension. */
  collect?(subject: Subject, usernames: readonly string[], signal: AbortSignal): AsyncIterable<KnownAbout>;
}
