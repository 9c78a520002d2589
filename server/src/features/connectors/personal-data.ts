/**
 * Personal data of connectors: texts of other systems in the ledger, which may quote a number of a refused call, and
 * answers to lookups, which stay in memory for some minutes.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { lengthOf } from '../../core/page.ts';
import type { Subject } from '../../numbers/subject.ts';
import type { PersonalData } from '../../ports/privacy.ts';
import type { Entry } from './ledger.ts';
import type { ConnectorStore } from './store.ts';

/** Rows of one read. */
const SCAN = 500;
const places = (n: number) => (n === 0 ? {} : { connector_entries: n });

/** `forget` drops the answers to lookups. */
export function connectorData(
  store: Pick<ConnectorStore, 'withWords' | 'decide'>,
  forget: () => void,
): PersonalData {
  async function* about(subject: Subject, signal: AbortSignal): AsyncGenerator<Entry> {
    // The digits of an extension may also be a status or an id in such a text.
    if (subject.kind === 'extension') return;
    for (let after = 0; ;) {
      signal.throwIfAborted();
      const rows = await store.withWords(after, SCAN);
      yield* rows.filter(({ words }) => subject.isIn(words ?? ''));
      if (rows.length < SCAN) return;
      after = rows.at(-1)!.id;
      await turn();
    }
  }
  return {
    name: 'connectors',
    count: async (subject, signal) => places(await lengthOf(about(subject, signal))),
    async erase(subject, placeholder, signal) {
      forget();
      let n = 0;
      for await (const { id } of about(subject, signal)) {
        await store.decide(id, (row) => ({
          ...row,
          words: row.words === null ? null : subject.without(row.words, placeholder),
        }));
        n += 1;
      }
      return places(n);
    },
    async *collect(subject, _usernames, signal) {
      for await (const { connector, conversation, words } of about(subject, signal))
        yield { kind: 'connector entry', value: { connector, conversation, words } };
    },
  };
}
