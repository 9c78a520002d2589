/** Applies over a real store with a fake disk and a fake engine; a process can be killed and another one started. */
import type { DomainEvent } from '@offhook/contract/events.ts';
import { systemClock } from '../../src/core/clock.ts';
import { silent } from '../../src/core/log.ts';
import { FEATURE_CODES } from '../../src/features/feature-codes/feature-codes.ts';
import { ConfigApplies } from '../../src/features/pbx-config/apply/service.ts';
import type { AppliesDeps } from '../../src/features/pbx-config/apply/service.ts';
import { createEtags } from '../../src/features/pbx-config/etags.ts';
import { toPbxConfig } from '../../src/features/pbx-config/config.ts';
import { storedObject, withObjects } from '../../src/features/pbx-config/model.ts';
import { openObjects } from '../../src/features/pbx-config/objects.ts';
import type { ObjectStore } from '../../src/features/pbx-config/objects.ts';
import { seed } from '../../src/features/pbx-config/seed.ts';
import { defaultCode, toSite } from '../../src/features/pbx-config/site.ts';
import { migrations } from '../../src/features/pbx-config/tables.ts';
import type { AuditEntry } from '../../src/ports/audit.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Actor } from '../../src/ports/operations.ts';
import type { MailboxOwners } from '../../src/ports/site.ts';
import type { Store } from '../../src/ports/store.ts';
import { FakeWorld } from './fake-engine-config.ts';

export const ADMIN: Actor = {
  caller: {
    session_id: 1,
    person_id: 1,
    extension: '1001',
    username: 'defne',
    level: 'admin',
    key: null,
    expires_at: Infinity,
    cookie: false,
  },
  ip: '127.0.0.1',
};
export interface AppliesRig {
  readonly world: FakeWorld;
  readonly applies: ConfigApplies;
  readonly objects: ObjectStore;
  readonly site: AppliesDeps['site'];
  readonly events: DomainEvent[];
  /** Wanted owners of each move of mailboxes. */
  readonly moved: MailboxOwners[];
  readonly audited: AuditEntry[];
  /** Ids of persons whom the new versions disabled or removed. */
  readonly disabled: number[];
  /** Number of times that parts of the service were asked to follow a new version. */
  readonly followed: () => number;
  readonly holds: () => number;
  readonly restarts: () => number;
  /** Renames a person of the draft. */
  rename(extension: string, name: string): Promise<void>;
  /** Removes a person from the draft. */
  remove(extension: string): Promise<void>;
  /** Replaces a person of the draft by another one with an equal body; resolves with the id of the new one. */
  replace(extension: string): Promise<number>;
  /** Applies the draft and waits for its end. */
  applied(wanted?: Partial<Parameters<ConfigApplies['apply']>[1]>): ReturnType<ConfigApplies['one']>;
  /** Name of an extension in the engine. */
  liveName(extension: string): string | undefined;
  diskName(extension: string): string | undefined;
}
const nameIn = (text: string | undefined, extension: string): string | undefined =>
  (JSON.parse(text ?? '[]') as [string, string][]).find(([e]) => e === extension)?.[1];

/** The waits of a dead process never end and block no other process. */
const mortalClock = (lives: () => boolean): Clock => ({
  now: systemClock.now,
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => lives() && resolve(), ms);
      if (ms > 5_000) timer.unref();
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    }),
});
/** A process over this world and store. `lives`: false once the process is dead. */
export async function startProcess(
  world: FakeWorld,
  store: Store,
  more: Partial<AppliesDeps> = {},
): Promise<AppliesRig> {
  await store.migrate('pbx-config', migrations);
  await seed(store, { empty: false });
  const dying = world.store(store);
  const objects = await openObjects(dying);
  const etags = createEtags();
  const events: DomainEvent[] = [];
  const moved: MailboxOwners[] = [];
  const audited: AuditEntry[] = [];
  const disabled: number[] = [];
  let followed = 0;
  let holds = 0;
  let restarts = 0;
  const site: AppliesDeps['site'] = (model) => toSite(toPbxConfig(model), FEATURE_CODES);
  const applies = new ConfigApplies({
    store: dying,
    objects,
    engine: world.config(),
    house: {
      codes: new Map(FEATURE_CODES.map((code) => [code.id, defaultCode(code)])),
      hasSound: () => true,
    },
    site,
    audit: {
      record: async (entry) => void audited.push(entry),
      recordIn: async (_trx, ...entries) => void audited.push(...entries),
    },
    clock: mortalClock(world.lives()),
    log: silent,
    up: () => true,
    alone: (work) => work(),
    draftTag: () => etags.ofDraft(objects.applied(), objects.draft()),
    publish: (published) => void events.push(...published),
    async hold() {
      holds += 1;
      return () => void (holds -= 1);
    },
    mailboxes: async (owners) => void moved.push(owners!),
    disabling: async (_trx, people) => void disabled.push(...people),
    committed: () => void (followed += 1),
    restart: async () => void (restarts += 1),
    patience: { reload_ms: 150, verify_ms: 150, back_ms: 1_000 },
    ...more,
  });
  return {
    world,
    applies,
    objects,
    site,
    events,
    moved,
    audited,
    disabled,
    followed: () => followed,
    holds: () => holds,
    restarts: () => restarts,
    async rename(extension, name) {
      const before = objects.draft().of('extension').get(extension)!;
      const object = storedObject(before.id, 'extension', { ...before.body, name });
      const draft = withObjects(objects.draft(), [{ kind: 'extension', key: extension, object }]);
      await objects.setDraft(draft, { author: '1001', at: 1 });
    },
    async remove(extension) {
      const gone = { kind: 'extension', key: extension, object: null } as const;
      await objects.setDraft(withObjects(objects.draft(), [gone]), { author: '1001', at: 1 });
    },
    async replace(extension) {
      const before = objects.draft().of('extension').get(extension)!;
      const [object] = await objects.identify([before]);
      const draft = withObjects(objects.draft(), [{ kind: 'extension', key: extension, object: object! }]);
      await objects.setDraft(draft, { author: '1001', at: 1 });
      return object!.id;
    },
    async applied(wanted = {}) {
      const { id } = await applies.apply(ADMIN, {
        comment: null,
        overwrite_drift: false,
        restart: 'no',
        ...wanted,
      });
      await applies.idle();
      return await applies.one(id);
    },
    liveName: (extension) => nameIn(world.live?.get('endpoints.conf'), extension),
    diskName: (extension) => nameIn(world.disk.get('endpoints.conf'), extension),
  };
}
/** A started site: the engine runs with the files of the disk. */
export async function startSite(store: Store, more: Partial<AppliesDeps> = {}): Promise<AppliesRig> {
  const world = new FakeWorld();
  const rig = await startProcess(world, store, more);
  await rig.applies.start(false);
  world.boot();
  world.points = [];
  return rig;
}
