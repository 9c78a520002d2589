import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { SoundKind, SoundsReply, UploadedSound } from '@offhook/contract/sounds.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { Queue } from '../../core/queue.ts';
import { say } from '../../core/said.ts';
import { createShares } from '../../core/shares.ts';
import type { Log } from '../../core/log.ts';
import type { Audit } from '../../ports/audit.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Actor } from '../../ports/operations.ts';
import { HEAD_BYTES, KEPT_RATE } from './convert.ts';
import { createConverter } from './converter.ts';
import { openSoundFolder } from './folder.ts';
import type { KeptSound } from './folder.ts';

/** Bytes of an upload. */
export const MAX_UPLOAD = 20 * 1024 * 1024;
const MOST_SECONDS: Readonly<Record<SoundKind, number>> = { prompt: 600, music_class: 3_600 };
/** Uploads under way, shared by persons: one is converted, the others are being received or wait. */
const MAX_UPLOADS = 8;
const RETRY_SECONDS = 10;
const UNUSED_MS = 7 * 86_400_000;
const SWEEP_MS = 3_600_000;

export interface SoundsDeps {
  readonly audit: Audit;
  readonly clock: Clock;
  readonly log: Log;
  /** Folder of the files; the engine reads them there. */
  readonly folder: string;
  /** Bytes that all of them may take. */
  readonly budget: number;
  /** Bytes that stay free on the disk. */
  readonly diskFloor: number;
  /** Ids of the sounds that the draft or any version of the configuration uses. */
  readonly usedSounds: () => Promise<ReadonlySet<string>>;
  /** Names of the engine's own sounds; empty while there is no engine. */
  readonly builtIn: () => Promise<readonly string[]>;
}
export interface SoundFile {
  readonly handle: FileHandle;
  readonly bytes: number;
}
export interface Sounds extends AsyncDisposable {
  /**
   * Checks, converts and keeps a sound; the same sound again is the same id. Throws `sound_too_large`, `sound_too_long`,
   * `not_audio`, `storage_full`, `too_many_requests`, `overloaded` and `store_unavailable`.
   */
  upload(actor: Actor, kind: SoundKind, body: Readable | null): Promise<UploadedSound>;
  list(): Promise<SoundsReply>;
  /** For whoever lets the configuration use it: true where it is kept, as far as is known without looking. */
  knows(sound: string): boolean;
  /** The caller closes it. Throws `not_found`. */
  open(sound: string): Promise<SoundFile>;
  /** Throws `not_found`, `in_use` and `store_unavailable`. */
  remove(actor: Actor, sound: string): Promise<void>;
  /** Deletes what nothing has used for seven days; resolves with how many. */
  sweep(): Promise<number>;
  close(): Promise<void>;
}

const secondsOf = (bytes: number): number => (bytes - HEAD_BYTES) / 2 / KEPT_RATE;

/** Sweeps now, and then once an hour until it is closed. */
export async function createSounds(deps: SoundsDeps): Promise<Sounds> {
  const { audit, clock, usedSounds } = deps;
  const log = deps.log.child({ part: 'sounds' });
  const folder = await openSoundFolder(deps.folder);
  const converter = createConverter();
  const sumOf = (sounds: readonly KeptSound[]): number => sounds.reduce((sum, { bytes }) => sum + bytes, 0);
  const uploads = createShares({
    total: MAX_UPLOADS,
    retry_after_seconds: RETRY_SECONDS,
    own: say`too many of your sounds are being taken in; send this one when they are`,
    others: say`too many sounds are being taken in`,
  });
  const known = new Set<string>();
  async function look(): Promise<readonly KeptSound[]> {
    const kept = await folder.list();
    known.clear();
    for (const { sound } of kept) known.add(sound);
    return kept;
  }
  await look();

  /** `bytes`: of a sound that shall be kept; 0 while that is not known. */
  async function checkBudget(bytes: number): Promise<void> {
    const kept = sumOf(await folder.list());
    if (kept + bytes <= deps.budget && kept < deps.budget) return;
    throw new ServiceError(
      'storage_full',
      say`all sounds together may take ${deps.budget} bytes; delete one, or raise OFFHOOK_SOUND_MEGABYTES`,
    );
  }
  async function checkDisk(bytes: number): Promise<void> {
    if ((await folder.freeBytes()) >= deps.diskFloor + bytes) return;
    throw new ServiceError('storage_full', 'the disk has too little room left');
  }
  /** Without it two uploads could both take the last room, and a sweep could delete a sound that was just uploaded again. */
  const changes = new Queue();
  async function take({ caller, ip }: Actor, kind: SoundKind, body: Readable): Promise<UploadedSound> {
    await checkBudget(0);
    // Both lie side by side for a moment.
    await checkDisk(MAX_UPLOAD + MOST_SECONDS[kind] * KEPT_RATE * 2);
    const upload = await folder.receive(body, MAX_UPLOAD);
    try {
      const { from, to } = upload;
      const { sha256, ...facts } = await converter.convert({ from, to, most_seconds: MOST_SECONDS[kind] });
      await changes.run(async () => {
        if (!(await folder.has(sha256))) await checkBudget(facts.bytes);
        await audit.record({
          action: 'sounds.upload',
          actor: caller.extension || caller.username,
          object: sha256,
          outcome: 'ok',
          ip,
          detail: { kind, ...facts },
        });
        await folder.keep(to, sha256, clock.now());
        known.add(sha256);
      });
      return { success: true, sound: sha256, ...facts };
    } finally {
      await upload.remove();
    }
  }
  async function sweepOnce(): Promise<number> {
    let count = 0;
    const used = await usedSounds();
    for (const { sound, wanted_ms } of await look()) {
      if (used.has(sound)) await folder.want(sound, clock.now());
      // Asked anew: what the draft took up a moment ago stays.
      else if (wanted_ms + UNUSED_MS <= clock.now() && !(await usedSounds()).has(sound)) {
        await audit.record({
          action: 'sounds.expire',
          actor: null,
          object: sound,
          outcome: 'ok',
          ip: null,
        });
        known.delete(sound);
        if (await folder.remove(sound)) count += 1;
      }
    }
    return count;
  }
  const sweep = (): Promise<number> => changes.run(sweepOnce);
  const stop = new AbortController();
  async function keepSweeping(): Promise<void> {
    while (!stop.signal.aborted) {
      await sweep().catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'unused sounds could not be deleted; trying again in an hour'),
      );
      await clock.sleep(SWEEP_MS, stop.signal).catch(() => undefined);
    }
  }
  const sweeping = keepSweeping();
  const close = async (): Promise<void> => {
    stop.abort();
    await Promise.all([converter.close(), sweeping]);
  };
  return {
    async upload(actor, kind, body) {
      if (body === null) throw new ServiceError('not_audio', 'there is nothing in it');
      const give = uploads.take(actor.caller.person_id, 1);
      try {
        return await take(actor, kind, body);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
        throw new ServiceError('storage_full', 'the disk is full', { cause: error });
      } finally {
        give();
      }
    },
    async list() {
      const kept = await look();
      const used = await usedSounds();
      return {
        success: true,
        sounds: kept.map(({ sound, bytes, wanted_ms }) => ({
          sound,
          bytes,
          seconds: secondsOf(bytes),
          used: used.has(sound),
          expires_at: used.has(sound) ? null : rfc3339(wanted_ms + UNUSED_MS),
        })),
        bytes: sumOf(kept),
        bytes_at_most: deps.budget,
        built_in: [...(await deps.builtIn())],
      };
    },
    knows: (sound) => known.has(sound),
    async open(sound) {
      const handle = await folder.open(sound);
      if (handle === null) throw new ServiceError('not_found', 'there is no such sound');
      return { handle, bytes: (await handle.stat()).size };
    },
    remove: ({ caller, ip }, sound) =>
      changes.run(async () => {
        if (!(await folder.has(sound))) throw new ServiceError('not_found', 'there is no such sound');
        const actor = caller.extension || caller.username;
        const line = { action: 'sounds.remove', actor, object: sound, ip } as const;
        if ((await usedSounds()).has(sound)) {
          await audit.record({ ...line, outcome: 'refused' });
          throw new ServiceError('in_use', 'the draft or a version of the configuration uses it');
        }
        await audit.record({ ...line, outcome: 'ok' });
        known.delete(sound);
        await folder.remove(sound);
      }),
    sweep,
    close,
    [Symbol.asyncDispose]: close,
  };
}
