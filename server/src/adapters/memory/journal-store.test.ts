import { journalContinuityConformance } from '../../../test/conformance/journal-continuity.ts';
import type { JournalPlace } from '../../../test/conformance/journal-continuity.ts';
import { journalStoreConformance } from '../../../test/conformance/journal-store.ts';
import { memoryPlace, openMemoryJournal } from './journal-store.ts';
import type { MemoryPlace } from './journal-store.ts';

function memory(place: MemoryPlace = memoryPlace()): JournalPlace {
  /** A copied seal is not exact: the file system's own metadata is lost. */
  const copied = (all: MemoryPlace): MemoryPlace => {
    const copy = structuredClone(all);
    return { ...copy, seal: copy.seal === null ? null : { ...copy.seal, exact: false } };
  };
  return {
    open: () => openMemoryJournal(place),
    kill() {},
    cut(count) {
      place.log.rows.splice(-count);
    },
    flip(seq) {
      place.log.rows = place.log.rows.map((row) =>
        row.seq === seq ? { ...row, json: row.json.replace('one', 'onf') } : row,
      );
    },
    copyLog: () => structuredClone(place.log),
    restoreLog(copy) {
      place.log = structuredClone(copy as MemoryPlace['log']);
    },
    copyAll: () => copied(place),
    async restoreAll(copy) {
      Object.assign(place, structuredClone(copy));
    },
    clone: async () => memory(copied(place)),
  };
}

journalStoreConformance('memory', openMemoryJournal);
journalContinuityConformance('memory', memory);
