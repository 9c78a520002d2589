import type { FileHandle } from 'node:fs/promises';
import { nodeOf } from '@offhook/contract/ids.ts';
import type { Recording, RecordingsQuery } from '@offhook/contract/recordings.ts';
import { audited } from '../../commands/audited.ts';
import { ServiceError } from '../../core/errors.ts';
import { say } from '../../core/said.ts';
import { pageOf } from '../../core/page.ts';
import { historySince, reaches, recordingsOf } from '../../rights/rights.ts';
import type { Objects } from '../../rights/rights.ts';
import type { Conversations, KnownConversation } from '../../ports/conversations.ts';
import type { Caller } from '../../ports/http.ts';
import type { Actor } from '../../ports/operations.ts';
import type { Common } from '../../ports/common.ts';
import type { Disposal } from './disposal.ts';
import type { RecordingFiles } from './files.ts';
import { createPages } from './pages.ts';
import { createPlays } from './plays.ts';
import type { RecordingStore } from './store.ts';
import type { RecordingRow } from './tables.ts';
import { recordingOf } from './view.ts';

export interface ServiceDeps extends Common<'audit' | 'clock'> {
  readonly store: RecordingStore;
  readonly files: RecordingFiles;
  readonly disposal: Disposal;
  /** False for a recording whose file is on the machine of another node. */
  readonly isHere: (row: RecordingRow) => boolean;
  /** True for a recording whose file is on the machine of a home node, which never leads. */
  readonly isAtHome: (row: RecordingRow) => boolean;
  readonly conversations: Pick<Conversations, 'byCall' | 'talkedIn' | 'withPart'>;
  /** Whether persons may play recordings of the conversations in which they talked. */
  readonly own: boolean;
}
/** A stored file that is about to be sent. */
export interface Audio {
  readonly handle: FileHandle;
  readonly bytes: number;
  readonly sha256: string;
  /** File name for downloads: start time and id; ASCII. */
  readonly name: string;
  /** Counts one piece as being sent, once its audit entry is stored. */
  play(): Promise<{ done(): void }>;
}
/**
 * Methods throw `not_found` both for an unknown recording and for one that the caller may not see, and
 * `store_unavailable`.
 */
export interface RecordingService {
  page(
    caller: Caller,
    query: RecordingsQuery,
  ): Promise<{ recordings: Recording[]; next_cursor: string | null }>;
  one(caller: Caller, id: string): Promise<Recording>;
  /** Throws `no_audio` if there is no file (yet or any more). The caller closes the handle. */
  audio(actor: Actor, id: string): Promise<Audio>;
  /** Deletes the file; the row remains as a trace. Throws `no_audio` while the recording continues. */
  remove(actor: Actor, id: string): Promise<Recording>;
}

const PAGE = 50;
const WHY_NOT: Record<Exclude<RecordingRow['state'], 'stored'>, string> = {
  running: 'the recording is not finished yet',
  missing: 'the engine stored no file for this recording',
  expired: 'the recording was deleted at the end of its retention time',
  erased: 'the recording was deleted',
};
/** Whether one of these extensions talked in the conversation, and so may play all of its recordings. */
const talkedIn = (conversation: KnownConversation | null | undefined, reach: Objects): boolean =>
  conversation?.talkers.some((extension) => reaches(reach, extension)) === true;
const noSuch = (): ServiceError => new ServiceError('not_found', 'there is no such recording');
const noAudio = (state: keyof typeof WHY_NOT): ServiceError => new ServiceError('no_audio', WHY_NOT[state]);
const onNode = ({ channel }: RecordingRow): ServiceError =>
  new ServiceError('no_audio', say`the file is on node ${nodeOf(channel)}, which does not lead the site now`);
const atHome = ({ channel }: RecordingRow): ServiceError =>
  new ServiceError(
    'no_audio',
    say`the file is on node ${nodeOf(channel)} only: recordings of this node can be played if OFFHOOK_SHARED_FILES is set`,
  );
const damaged = (size: number, stored: number): ServiceError =>
  new ServiceError('no_audio', say`the file is damaged: it has ${size} bytes, ${stored} were stored`);

export function createRecordingService(deps: ServiceDeps): RecordingService {
  const { store, files, disposal, conversations, audit, clock } = deps;
  const pageWithin = createPages(deps);
  const plays = createPlays(deps);
  const reachOf = (caller: Caller) => recordingsOf(caller, deps.own);
  const startOf = (caller: Caller, from: string | undefined): number | undefined => {
    const since = historySince(caller);
    if (from === undefined) return since === 0 ? undefined : since;
    return Math.max(Date.parse(from), since);
  };

  async function found(caller: Caller, id: string): Promise<RecordingRow> {
    const row = await store.byId(id);
    if (row === undefined) throw noSuch();
    const reach = reachOf(caller);
    if (row.started_ms < historySince(caller)) throw noSuch();
    if (reach === null || (row.extension !== null && reaches(reach, row.extension))) return row;
    if (reach.length === 0) throw noSuch();
    if (!talkedIn(await conversations.byCall(row.call), reach)) throw noSuch();
    return row;
  }

  /** Ended on the machine of another node, which settles it when it leads again. */
  const isInterrupted = (row: RecordingRow): boolean =>
    row.state === 'running' && row.ended_ms !== null && !deps.isHere(row);
  const elsewhere = (row: RecordingRow): ServiceError => (deps.isAtHome(row) ? atHome(row) : onNode(row));

  return {
    async page(caller, { limit = PAGE, cursor, extension, queue, conversation, from, to }) {
      const known = conversation === undefined ? undefined : await conversations.byCall(conversation);
      const calls = conversation === undefined ? undefined : (known?.calls ?? [conversation]);
      const all = reachOf(caller);
      const { rows, ended } = await pageWithin(talkedIn(known, all) ? null : all, {
        extension,
        queue,
        calls,
        from: startOf(caller, from),
        to: to === undefined ? undefined : Date.parse(to),
        below: cursor,
        limit: limit + 1,
      });
      const { page, next_cursor } = pageOf(rows, limit, (row) => row.id);
      return {
        recordings: page.map((row) => recordingOf(row, clock.now())),
        next_cursor: next_cursor ?? ended,
      };
    },
    one: async (caller, id) => recordingOf(await found(caller, id), clock.now()),
    async audio(actor, id) {
      const row = await found(actor.caller, id);
      if (isInterrupted(row) || (row.state === 'missing' && deps.isAtHome(row))) throw elsewhere(row);
      if (row.state !== 'stored') throw noAudio(row.state);
      // The folder of this node may hold another recording with the same file name.
      if (!deps.isHere(row)) throw elsewhere(row);
      const handle = await files.open(row.file);
      if (handle === null) throw noAudio('missing');
      try {
        const { size } = await handle.stat();
        // The ETag is the hash of the stored file, which a file of another size does not match.
        if (row.bytes !== null && size !== row.bytes) throw damaged(size, row.bytes);
        return {
          handle,
          bytes: size,
          sha256: row.sha256 ?? '',
          name: `recording-${new Date(row.started_ms).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${row.id}.wav`,
          async play() {
            const playing = await plays.begin(actor, row);
            if (handle.fd !== -1) return playing;
            // Deleted meanwhile.
            playing.done();
            throw noAudio('erased');
          },
        };
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    async remove(actor, id) {
      const row = await found(actor.caller, id);
      // The file of an interrupted one is deleted when its node leads again.
      if (row.state === 'running' && !isInterrupted(row)) throw noAudio('running');
      const detail = { call_id: row.call, bytes: row.bytes };
      const line = {
        action: 'recordings.delete',
        actor: actor.caller.username,
        object: id,
        ip: actor.ip,
        detail,
      };
      await audited(audit, line, () => disposal.erase([row]));
      return recordingOf((await store.byId(id)) ?? row, clock.now());
    },
  };
}
