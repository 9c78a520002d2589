import { randomBytes } from 'node:crypto';
import type { OutboundStream } from '../../../outbound/transport.ts';
import type { CompiledAttach } from './compile.ts';
import { done, failureOf, isDone, scopeOf, text } from './entries.ts';
import type { EntryDone, EntrySubject } from './entries.ts';
import type { Scope } from './names.ts';
import { failure } from './requests.ts';
import type { ConnectorResult, Requester } from './requests.ts';

/** One stored recording of a conversation and the entry to attach it to. */
export interface AttachSubject extends Pick<EntrySubject, 'call' | 'customer'> {
  /** Id of the entry in the system. */
  readonly entry: string;
  readonly recording: {
    readonly id: string;
    /** File name, in characters that every form accepts. */
    readonly name: string;
    readonly started_at: string;
    readonly seconds: number;
    readonly bytes: number;
  };
}

/** Recordings in the entries of one system. Verbs never throw. */
export class ConnectorAttachments {
  readonly once: 'own_id' | 'find' | 'ledger';
  readonly max_bytes: number;
  /** True if the connector file can delete a copy. */
  readonly removes: boolean;
  readonly #attach: CompiledAttach;
  readonly #scope: Scope;
  readonly #requester: Requester;
  constructor(
    attach: CompiledAttach,
    written: { readonly once: ConnectorAttachments['once']; readonly max_mb: number },
    scope: Scope,
    requester: Requester,
  ) {
    this.once = written.once;
    this.max_bytes = written.max_mb * 1_048_576;
    this.removes = attach.remove !== undefined;
    this.#attach = attach;
    this.#scope = scope;
    this.#requester = requester;
  }
  /** False if the connector file does not attach this recording. */
  wanted(subject: AttachSubject): boolean {
    const { when } = this.#attach;
    return when === undefined || when(this.#scopeOf(subject)) === true;
  }
  async create(
    subject: AttachSubject,
    audio: OutboundStream,
    signal: AbortSignal,
  ): Promise<ConnectorResult<EntryDone>> {
    // Random, so that no text of a caller or agent can contain the mark.
    const mark = randomBytes(16).toString('hex');
    const scope = this.#scopeOf(subject, mark);
    const { id, name } = subject.recording;
    const repeatable = this.once === 'own_id';
    const answered = await this.#requester.ask('entry.attach', this.#attach, scope, signal, repeatable, {
      mark,
      name,
      stream: audio,
    });
    if (!isDone(answered)) return failureOf(answered);
    if (this.#attach.id === undefined) return done({ id, existed: false });
    const there = text(this.#attach.id({ ...scope, answer: answered.value }));
    return there === null
      ? failure('unknown', 'the answer holds no id of the recording')
      : done({ id: there, existed: false });
  }
  /** Searches the copy of a recording after a create with unknown result; null if there is none. */
  async find(subject: AttachSubject, signal: AbortSignal): Promise<ConnectorResult<EntryDone | null>> {
    const { find } = this.#attach;
    if (find === undefined) return done(null);
    const scope = this.#scopeOf(subject);
    const answered = await this.#requester.ask('entry.attach.find', find, scope, signal, true);
    if (!isDone(answered)) return failureOf(answered);
    const id = text(find.id({ ...scope, answer: answered.value }));
    return done(id === null ? null : { id, existed: true });
  }
  async remove(id: string, subject: AttachSubject, signal: AbortSignal): Promise<ConnectorResult<null>> {
    const { remove } = this.#attach;
    if (remove === undefined) return failure('refused', 'the file has no entry.attach.remove');
    const scope = { ...this.#scopeOf(subject), attached: { id } };
    const answered = await this.#requester.ask('entry.attach.remove', remove, scope, signal, true);
    return isDone(answered) ? done(null) : failureOf(answered);
  }
  #scopeOf(subject: AttachSubject, mark = ''): Scope {
    const { entry, recording, call } = subject;
    return {
      ...scopeOf(this.#scope, subject),
      entry: { id: entry },
      recording: {
        ...recording,
        url: call.recording_url,
        seconds: BigInt(Math.round(recording.seconds)),
        bytes: BigInt(recording.bytes),
        base64: mark,
      },
    };
  }
}
