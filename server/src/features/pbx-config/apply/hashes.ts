import { createHash } from 'node:crypto';

/** SHA-256 in hex of a file's text, as `EngineConfig.onDisk` has it. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
