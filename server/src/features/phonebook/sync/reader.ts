import type { LdapSettings } from '@offhook/contract/phonebook-sources.ts';
import type { Line } from '../line.ts';

/** Customers of one source. */
export const MAX_SOURCE_CUSTOMERS = 50_000;

/** Settings with which a reader connects to a source. */
export interface SourceConfig {
  readonly address: string;
  readonly username: string;
  readonly password: string;
  /** Null for another kind. */
  readonly ldap: LdapSettings | null;
}
/** State of a source after earlier syncs. */
export interface SourceCursor {
  /** Null reads all of it. */
  readonly cursor: string | null;
  /** Tag of each entry by its id; an entry with the same tag has not changed. */
  readonly tags: ReadonlyMap<string, string>;
}
/** A part of the changes of a source. */
export interface SourcePart {
  /** `line` is null for an entry that is no customer, or cannot be read. */
  readonly changed: readonly { readonly id: string; readonly tag: string; readonly line: Line | null }[];
  readonly gone: readonly string[];
}
