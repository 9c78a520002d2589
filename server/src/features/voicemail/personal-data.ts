import { rfc3339OrNull } from '../../core/clock.ts';
import { ServiceError, messageOf } from '../../core/errors.ts';
import { isSystemError } from '../../core/files.ts';
import type { Log } from '../../core/log.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { KnownAbout, PersonalData, Places } from '../../ports/privacy.ts';
import { itemsOf } from '../../ports/voicemail.ts';
import type { Voicemail, VoicemailAudio, VoicemailItem } from '../../ports/voicemail.ts';

export interface EngineVoicemail {
  /** Name of the node. */
  readonly node: string;
  /** Null where no node reads the files of that engine for others. */
  readonly voicemail: Voicemail | null;
}
export interface VoicemailDataDeps {
  /** One for each engine of the site. Throws `store_unavailable`. */
  readonly engines: () => Promise<readonly EngineVoicemail[]>;
  /** Id of the owner of a mailbox (`MailboxOwners`); undefined where the number has none. */
  readonly ownerOf: (number: string) => number | undefined;
  readonly log: Log;
}

type Unreached = 'away' | 'unread';
/** Why an engine was not searched to the end; null for an error that is none of its own. A home node answers `internal` for a file. */
function unreachedBy(error: unknown): Unreached | null {
  if (!(error instanceof ServiceError)) return isSystemError(error) ? 'unread' : null;
  if (error.code === 'internal') return 'unread';
  return error.code === 'engine_unavailable' || error.code === 'overloaded' ? 'away' : null;
}
const files = (audio: readonly VoicemailAudio[] | null) =>
  audio?.map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString('base64') })) ?? null;
const counted = (voicemail: number): Places => (voicemail === 0 ? {} : { voicemail });

/**
 * Voicemail of an extension: all of its mailbox, also of former holders of the number, and the messages that it left or that were
 * forwarded. Of a number outside: the messages that it left or redirected.
 */
export class VoicemailData implements PersonalData {
  readonly name = 'voicemail';
  readonly #deps: VoicemailDataDeps;
  readonly #unreached = new Map<string, Unreached>();
  #lackingAudio = 0;

  constructor(deps: VoicemailDataDeps) {
    this.#deps = deps;
  }
  /** Nodes of the engines that the last call of a method did not search to the end. */
  unreached(): readonly string[] {
    return [...this.#unreached.keys()].toSorted();
  }
  /** Number of items that the last call of `collect` gave without their audio, because it could not be read. */
  lackingAudio(): number {
    return this.#lackingAudio;
  }
  async count(subject: Subject, signal: AbortSignal): Promise<Places> {
    let found = 0;
    for await (const { items } of this.#about(subject, signal)) found += items.length;
    return counted(found);
  }
  async erase(subject: Subject, _placeholder: string, signal: AbortSignal): Promise<Places> {
    let erased = 0;
    for await (const { node, voicemail, items } of this.#about(subject, signal))
      erased += await this.#reached(node, 0, () => voicemail.remove(items, signal));
    return counted(erased);
  }
  async *collect(
    subject: Subject,
    _usernames: readonly string[],
    signal: AbortSignal,
  ): AsyncGenerator<KnownAbout> {
    this.#lackingAudio = 0;
    for await (const { node, voicemail, owner, items } of this.#about(subject, signal))
      for (const item of items) {
        if (this.#unreached.get(node) === 'away') break;
        if (isOfAnother(subject, owner, item)) {
          yield shown(item, undefined);
          continue;
        }
        const audio = await this.#reached(node, null, () => voicemail.audio(item, signal));
        if (this.#unreached.get(node) === 'away') break;
        if (audio === null) this.#lackingAudio += 1;
        yield shown(item, audio);
      }
  }

  /** Items about the subject, for each engine that has some. */
  async *#about(subject: Subject, signal: AbortSignal) {
    this.#unreached.clear();
    const owner = subject.kind === 'extension' ? this.#deps.ownerOf(subject.value) : undefined;
    for (const { node, voicemail } of await this.#deps.engines()) {
      signal.throwIfAborted();
      if (voicemail === null) {
        this.#unreached.set(node, 'away');
        continue;
      }
      const items: VoicemailItem[] = [];
      await this.#reached(node, undefined, async () => {
        const lacks = (): void => void this.#unreached.set(node, 'unread');
        for await (const item of itemsOf(voicemail, signal, lacks))
          if (isAbout(subject, owner, item)) items.push(item);
      });
      if (items.length > 0) yield { node, voicemail, owner, items };
    }
  }
  async #reached<T>(node: string, otherwise: T, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const why = unreachedBy(error);
      if (why === null) throw error;
      this.#deps.log.warn({ node, error: messageOf(error) }, 'voicemail of an engine could not be read');
      this.#unreached.set(node, why);
      return otherwise;
    }
  }
}
function isAbout(
  subject: Subject,
  owner: number | undefined,
  { mailbox, former_owner, message }: VoicemailItem,
): boolean {
  if (subject.kind === 'extension') {
    if (mailbox === subject.value || (former_owner !== null && former_owner === owner)) return true;
    return (
      message !== null &&
      [message.left_for, message.caller_number, message.redirected_by].includes(subject.value)
    );
  }
  return (
    message !== null &&
    [message.caller_number, message.caller_name, message.redirected_by].some((text) =>
      subject.isIn(text ?? ''),
    )
  );
}
/** True for an item of a former holder other than the present holder of the extension, who must not hear it. */
const isOfAnother = (subject: Subject, owner: number | undefined, { former_owner }: VoicemailItem): boolean =>
  subject.kind === 'extension' && former_owner !== null && former_owner !== owner;
/** Without a field `audio` where it is undefined. */
function shown(
  { mailbox, former_owner, message }: VoicemailItem,
  audio: readonly VoicemailAudio[] | null | undefined,
): KnownAbout {
  const box = { mailbox, former_holder: former_owner !== null };
  const heard = audio === undefined ? {} : { audio: files(audio) };
  if (message === null) return { kind: 'voicemail_greeting', value: { ...box, ...heard } };
  const { received_ms, ...rest } = message;
  const value = { ...box, ...rest, received_at: rfc3339OrNull(received_ms), ...heard };
  return { kind: 'voicemail_message', value };
}
