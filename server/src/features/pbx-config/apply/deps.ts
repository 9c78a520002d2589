/** Dependencies of an apply, of the start of the service and of the return to former files. */
import type { Transaction } from 'kysely';
import type { ConfigApply } from '@offhook/contract/config-applies.ts';
import type { EngineConfig } from '../../../ports/engine-config.ts';
import type { Common } from '../../../ports/common.ts';
import type { Site } from '../../../ports/site.ts';
import type { House } from '../check.ts';
import type { Model } from '../model.ts';
import type { ObjectStore } from '../objects.ts';
import type { ObjectTables } from '../tables.ts';
import type { ApplyJournal } from './journal.ts';
import type { Patience } from './patience.ts';

export interface RunDeps extends Common<'clock' | 'log'> {
  readonly objects: ObjectStore;
  readonly engine: EngineConfig;
  readonly journal: ApplyJournal;
  readonly house: House;
  readonly site: (model: Model) => Site;
  readonly patience: Patience;
  /** Called with every state of an apply. */
  readonly publishApply: (apply: ConfigApply) => void;
  /**
   * Called before the engine reloads files, because a reload may lose state of the engine. The returned function is
   * called when engine and files agree again.
   */
  readonly hold: () => Promise<() => void>;
  /** Moves the messages at the engine of this machine to their owners, before it reloads files; without owners it moves none. */
  readonly mailboxes: (owners: Site['mailbox_owners']) => Promise<void>;
  /** Called in the transaction that creates a version, with the ids of the persons whom it disables or removes. */
  readonly disabling: (trx: Transaction<ObjectTables>, people: readonly number[]) => Promise<void>;
  /** Called after a version was created. */
  readonly committed: () => void;
  /** Requests a restart of the engine when no call is left. */
  readonly restart: () => Promise<void>;
}
