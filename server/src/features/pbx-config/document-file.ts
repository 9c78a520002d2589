import fs from 'node:fs/promises';
import { MAX_CONFIG_BYTES } from '@offhook/contract/config.ts';
import { parse } from 'yaml';
import { messageOf } from '../../core/errors.ts';

/** Limit of alias nodes in a document; more is an alias bomb. */
const MAX_ALIASES = 100;

/** Reads a document of `npm run config -- export` without checking its objects. Errors contain the file's name. */
export async function readDocumentFile(file: string): Promise<object> {
  const { size } = await fs.stat(file);
  if (size > MAX_CONFIG_BYTES) throw new Error(`${file}: larger than ${MAX_CONFIG_BYTES} bytes`);
  let document: unknown;
  try {
    document = parse(await fs.readFile(file, 'utf8'), {
      schema: 'core',
      uniqueKeys: true,
      maxAliasCount: MAX_ALIASES,
      logLevel: 'error',
    });
  } catch (error) {
    throw new Error(`${file}: ${messageOf(error)}`);
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new Error(`${file}: expected a document such as npm run config -- export gives`);
  return document;
}
