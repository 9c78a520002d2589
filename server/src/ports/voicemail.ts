/** A voicemail message, or a greeting that the owner of a mailbox recorded. */
export interface VoicemailItem {
  /** Folder and beginning of the names of its files. Another message may get it when the owner moves or deletes messages. */
  readonly stem: string;
  /** Differs for another message with the same stem. */
  readonly mark: string;
  /** Number of the mailbox. */
  readonly mailbox: string;
  /** Id of the owner for whom it was moved aside (`MailboxOwners`); null for an item in its mailbox. */
  readonly former_owner: number | null;
  /** Null for a greeting. */
  readonly message: VoicemailMessage | null;
}
/** Null for what the engine did not store. */
export interface VoicemailMessage {
  /** Folder of the mailbox, e.g. `INBOX`. */
  readonly folder: string;
  /** Number for which it was left; another one than the mailbox where it was forwarded to this mailbox. */
  readonly left_for: string | null;
  readonly caller_number: string | null;
  readonly caller_name: string | null;
  /** Number that redirected the call to the mailbox. */
  readonly redirected_by: string | null;
  readonly received_ms: number | null;
  readonly seconds: number | null;
}
export interface VoicemailAudio {
  /** File name without a folder. */
  readonly name: string;
  readonly bytes: Uint8Array;
}
export interface VoicemailPage {
  readonly items: readonly VoicemailItem[];
  /** Null after the last mailbox. */
  readonly next: string | null;
  /** Number of files and folders of these mailboxes that could not be read; absent for none. */
  readonly unread?: number;
}
/** Voicemail in the files of one engine. Methods throw errors of the file system. */
export interface Voicemail {
  /** Items of some mailboxes, each with all of its items. `after` is `next` of the page before, null for the first page. */
  page(after: string | null, signal: AbortSignal): Promise<VoicemailPage>;
  /** Null where the item does not have this stem any more, or the engine uses its folder for longer than some seconds. */
  audio(item: VoicemailItem, signal: AbortSignal): Promise<readonly VoicemailAudio[] | null>;
  /**
   * Deletes the files of each item, except where `audio` resolves to null or a file refuses it. Resolves with the number of
   * deleted items.
   */
  remove(items: readonly VoicemailItem[], signal: AbortSignal): Promise<number>;
}
/** The items of all pages. Calls `lacks` where files could not be read. */
export async function* itemsOf(
  voicemail: Pick<Voicemail, 'page'>,
  signal: AbortSignal,
  lacks?: () => void,
): AsyncGenerator<VoicemailItem, void, void> {
  let after: string | null = null;
  do {
    const page: VoicemailPage = await voicemail.page(after, signal);
    if ((page.unread ?? 0) > 0) lacks?.();
    yield* page.items;
    after = page.next;
  } while (after !== null);
}
