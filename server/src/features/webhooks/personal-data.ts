import { setImmediate as yieldLoop } from 'node:timers/promises';
import { lengthOf } from '../../core/page.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { JournalRow } from '../../ports/journal-store.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { KeptDelivery, WebhookStore } from './store.ts';

/** Deliveries read at once. */
const SCAN = 500;

/** True for an event on a topic of the extension; in its other fields the digits may be a time or an id. */
const isOf = (extension: string, { topics }: JournalRow): boolean =>
  topics.split(' ').some((name) => !name.startsWith('queues/') && name.endsWith(`/${extension}`));

/**
 * Parked events about a subject, and answers of receivers that contain the number. An erasure keeps the line of the delivery;
 * a replay then reports the event as a gap. `saved` resolves once the lines in memory are stored.
 */
export function personalDataOf(
  store: Pick<WebhookStore, 'keptAfter' | 'empty'>,
  saved: () => Promise<void>,
): PersonalData {
  const isAbout = (subject: Subject, { row, excerpt }: KeptDelivery): boolean =>
    subject.kind === 'number'
      ? subject.isIn(row ?? '') || subject.isIn(excerpt)
      : row !== null && isOf(subject.value, JSON.parse(row) as JournalRow);
  async function* about(subject: Subject, signal: AbortSignal): AsyncGenerator<KeptDelivery> {
    await saved();
    for (let after: KeptDelivery | null = null; ;) {
      signal.throwIfAborted();
      const rows: readonly KeptDelivery[] = await store.keptAfter(after, SCAN);
      yield* rows.filter((one) => isAbout(subject, one));
      if (rows.length < SCAN) return;
      after = rows.at(-1)!;
      await yieldLoop();
    }
  }
  const found = (n: number) => (n === 0 ? {} : { webhook_deliveries: n });
  return {
    name: 'webhooks',
    count: async (subject, signal) => found(await lengthOf(about(subject, signal))),
    async erase(subject, _placeholder, signal) {
      let n = 0;
      for await (const one of about(subject, signal)) {
        await store.empty(one);
        n += 1;
      }
      return found(n);
    },
  };
}
