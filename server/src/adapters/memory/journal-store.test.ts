import { journalStoreConformance } from '../../../test/conformance/journal-store.ts';
import { openMemoryJournal } from './journal-store.ts';

journalStoreConformance('memory', openMemoryJournal);
