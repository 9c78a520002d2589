import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { SoundKind, SoundsReply, SpokenText, UploadedSound } from '@offhook/contract/sounds.ts';
import { audited } from '../../commands/audited.ts';
import { rfc3339 } from '../../core/clock.ts';
import { ServiceError } from '../../core/errors.ts';
import { statOf } from '../../core/files.ts';
import { Queue } from '../../core/queue.ts';
import { repeat } from '../../core/retry.ts';
import { say } from '../../core/said.ts';
import { createShares } from '../../core/shares.ts';
import type { Log } from '../../core/log.ts';
import type { Speak } from '../../ports/speech.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import { HEAD_BYTES, KEPT_RATE } from './convert.ts';
import { createConverter } from './converter.ts';
import { openSoundFolder } from './folder.ts';
import type { KeptSound, SoundFolder, Upload } from './folder.ts';

/** Largest upload in bytes. */
export const MAX_UPLOAD = 20 * 1024 * 1024;
const MOST_SECONDS: Readonly<Record<SoundKind, number>> = { prompt: 600, music_class: 3_600 };
/** Limit of running uploads, divided between persons; one is converted, the others are received or wait. */
const MAX_UPLOADS = 8;
const RETRY_SECONDS = 10;
const UNUSED_MS = 7 * 86_400_000;
const SWEEP_MS = 3_600_000;

export interface SoundsDeps extends Common<'audit' | 'clock' | 'log'> {
  /** Folder of the files; the engine reads them there. */
  readonly folder: string;
  /** Limit of bytes of all sounds together. */
  readonly budget: number;
  /** Bytes to keep free on the disk. */
  readonly diskFloor: number;
  /** Ids of the sounds that the draft or any version of the configuration uses. */
  readonly usedSounds: () => Promise<ReadonlySet<string>>;
  readonly speak: Speak;
  /** Names of the engine's own sounds; empty while there is no engine. */
  readonly builtIn: () => Promise<readonly string[]>;
}
export interface SoundFile {
  readonly handle: FileHandle;
  readonly bytes: number;
}

const secondsOf = (bytes: number): number => (bytes - HEAD_BYTES) / 2 / KEPT_RATE;

function sumOf(sounds: readonly KeptSound[]): number {
  return sounds.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Stores sounds; deletes unused ones when it is opened and then every hour until it is closed. */
export class Sounds implements AsyncDisposable {
  readonly #deps: SoundsDeps;
  readonly #log: Log;
  readonly #folder: SoundFolder;
  readonly #converter = createConverter();
  readonly #uploads = createShares({
    total: MAX_UPLOADS,
    retry_after_seconds: RETRY_SECONDS,
    own: say`too many of your sounds are being converted; send this one after they are done`,
    others: say`too many sounds are being uploaded; try again later`,
  });
  readonly #known = new Set<string>();
  // Serialised, so that two uploads cannot both take the last space, a sweep cannot delete a sound that was just
  // uploaded again, and a list cannot forget a sound that is being stored.
  readonly #changes = new Queue();
  readonly #stop = new AbortController();
  #sweeping: Promise<void> = Promise.resolve();

  static async open(deps: SoundsDeps): Promise<Sounds> {
    const sounds = new Sounds(deps, await openSoundFolder(deps.folder));
    await sounds.#look();
    sounds.#sweeping = sounds.#keepSweeping();
    return sounds;
  }
  private constructor(deps: SoundsDeps, folder: SoundFolder) {
    this.#deps = deps;
    this.#folder = folder;
    this.#log = deps.log.child({ part: 'sounds' });
  }
  /**
   * Checks, converts and stores a sound; equal sounds have the same id. Throws `sound_too_large`, `sound_too_long`,
   * `not_audio`, `storage_full`, `too_many_requests`, `overloaded` and `store_unavailable`.
   */
  async upload(actor: Actor, kind: SoundKind, body: Readable | null): Promise<UploadedSound> {
    if (body === null) throw new ServiceError('not_audio', 'the file is empty');
    return await this.#admit(actor, kind, () => this.#folder.receive(body, MAX_UPLOAD));
  }
  /** Stores a spoken text as `upload` does. Throws `invalid_request` and `speech_unavailable` too. */
  async speak(actor: Actor, wanted: SpokenText): Promise<UploadedSound> {
    return await this.#admit(actor, 'prompt', async () => {
      const upload = this.#folder.reserve();
      try {
        await this.#deps.speak(wanted, upload.from, this.#stop.signal);
      } catch (error) {
        await upload.remove();
        throw error;
      }
      return upload;
    });
  }
  async list(): Promise<SoundsReply> {
    const kept = await this.#changes.run(() => this.#look());
    const used = await this.#deps.usedSounds();
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
      bytes_at_most: this.#deps.budget,
      built_in: [...(await this.#deps.builtIn())],
    };
  }
  /** Bytes of all stored sounds. */
  async bytes(): Promise<number> {
    return sumOf(await this.#folder.list());
  }
  /** True if the sound is stored, from memory; the configuration uses only these. */
  knows(sound: string): boolean {
    return this.#known.has(sound);
  }
  /** The caller closes it. Throws `not_found`. */
  async open(sound: string): Promise<SoundFile> {
    const handle = await this.#folder.open(sound);
    if (handle === null) throw new ServiceError('not_found', 'there is no such sound');
    return { handle, bytes: (await statOf(handle)).size };
  }
  /** Throws `not_found`, `in_use` and `store_unavailable`. */
  remove({ caller, ip }: Actor, sound: string): Promise<void> {
    const { audit, usedSounds } = this.#deps;
    return this.#changes.run(async () => {
      if (!(await this.#folder.has(sound))) throw new ServiceError('not_found', 'there is no such sound');
      const actor = caller.extension || caller.username;
      const line = { action: 'sounds.remove', actor, object: sound, ip } as const;
      if ((await usedSounds()).has(sound)) {
        await audit.record({ ...line, outcome: 'refused' });
        throw new ServiceError('in_use', 'the draft or a version of the configuration uses this sound');
      }
      await audited(audit, line, async () => {
        this.#known.delete(sound);
        await this.#folder.remove(sound);
      });
    });
  }
  /** Deletes sounds unused for seven days; resolves with their number. */
  sweep(): Promise<number> {
    return this.#changes.run(() => this.#sweepOnce());
  }
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#converter.close(), this.#sweeping]);
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #look(): Promise<readonly KeptSound[]> {
    const kept = await this.#folder.list();
    this.#known.clear();
    for (const { sound } of kept) this.#known.add(sound);
    return kept;
  }
  /** `bytes`: size of the new sound; 0 while it is unknown. */
  async #checkBudget(bytes: number): Promise<void> {
    const kept = sumOf(await this.#folder.list());
    if (kept + bytes <= this.#deps.budget && kept < this.#deps.budget) return;
    throw new ServiceError(
      'storage_full',
      say`all sounds together may take ${this.#deps.budget} bytes; delete one, or raise OFFHOOK_SOUND_MEGABYTES`,
    );
  }
  async #checkDisk(bytes: number): Promise<void> {
    if ((await this.#folder.freeBytes()) >= this.#deps.diskFloor + bytes) return;
    throw new ServiceError('storage_full', 'the disk does not have enough free space');
  }
  async #admit(actor: Actor, kind: SoundKind, receive: () => Promise<Upload>): Promise<UploadedSound> {
    const give = this.#uploads.take(actor.caller.person_id, 1);
    try {
      return await this.#take(actor, kind, receive);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error;
      throw new ServiceError('storage_full', 'the disk is full', { cause: error });
    } finally {
      give();
    }
  }
  async #take(
    { caller, ip }: Actor,
    kind: SoundKind,
    receive: () => Promise<Upload>,
  ): Promise<UploadedSound> {
    await this.#checkBudget(0);
    // The upload and the converted sound are on the disk together for a moment.
    await this.#checkDisk(MAX_UPLOAD + MOST_SECONDS[kind] * KEPT_RATE * 2);
    const upload = await receive();
    try {
      const { from, to } = upload;
      const { sha256, ...facts } = await this.#converter.convert({
        from,
        to,
        most_seconds: MOST_SECONDS[kind],
      });
      await this.#changes.run(async () => {
        if (!(await this.#folder.has(sha256))) await this.#checkBudget(facts.bytes);
        const actor = caller.extension || caller.username;
        const line = { action: 'sounds.upload', actor, object: sha256, ip, detail: { kind, ...facts } };
        await audited(this.#deps.audit, line, async () => {
          await this.#folder.keep(to, sha256, this.#deps.clock.now());
          this.#known.add(sha256);
        });
      });
      return { success: true, sound: sha256, ...facts };
    } finally {
      await upload.remove();
    }
  }
  async #sweepOnce(): Promise<number> {
    const { audit, clock, usedSounds } = this.#deps;
    let count = 0;
    const used = await usedSounds();
    for (const { sound, wanted_ms } of await this.#look()) {
      if (used.has(sound)) await this.#folder.want(sound, clock.now());
      // Read again, because the draft may have taken the sound up meanwhile.
      else if (wanted_ms + UNUSED_MS <= clock.now() && !(await usedSounds()).has(sound)) {
        await audit.record({
          action: 'sounds.expire',
          actor: null,
          object: sound,
          outcome: 'ok',
          ip: null,
        });
        this.#known.delete(sound);
        if (await this.#folder.remove(sound)) count += 1;
      }
    }
    return count;
  }
  #keepSweeping(): Promise<void> {
    const failure = 'unused sounds could not be deleted; trying again in an hour';
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    return repeat(() => this.sweep(), { every_ms: SWEEP_MS, failure, clock, log: this.#log, signal });
  }
}
