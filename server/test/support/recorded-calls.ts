/** The recorded calls of features/history/fixtures, with the directory of the fixture. */
import { readdirSync } from 'node:fs';
import { nodeId } from '@offhook/contract/ids.ts';
import { recordedIn } from './call-records.ts';
import { withDirectory } from '../../src/features/history/record/records.ts';
import type { KnownRecord } from '../../src/features/history/record/records.ts';
import { directoryFixture } from './directory-fixture.ts';

const folder = new URL('../../src/features/history/fixtures/', import.meta.url);
const directory = directoryFixture();
export const recordedCalls: readonly string[] = readdirSync(folder)
  .filter((file) => file.endsWith('.cel'))
  .map((file) => file.slice(0, -4));
export const recordedCall = (name: string): readonly KnownRecord[] =>
  recordedIn(nodeId('ast1'), new URL(`${name}.cel`, folder)).map((r) => withDirectory(r, directory));
