/**
 * Loaded before a test file by `scripts/test.ts`, and by that before each service that the file starts: Argon2 with its least
 * memory and one pass, whatever parameters the caller and the hash name. At full cost, the passwords of one new site take 0.4 s
 * of a core. No other file imports this one, so a hash outside a test run has its full cost.
 */
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';

const LEAST = { memory: 8, passes: 1, parallelism: 1 };
const { argon2 } = crypto;
crypto.argon2 = (algorithm, parameters, callback) => argon2(algorithm, { ...parameters, ...LEAST }, callback);
syncBuiltinESMExports();

const itself = `--import=${import.meta.url}`;
const { NODE_OPTIONS: before = '' } = process.env;
if (!before.includes(itself)) process.env['NODE_OPTIONS'] = `${before} ${itself}`.trim();
