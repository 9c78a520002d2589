/**
 * Lints the OpenAPI document with Redocly and Spectral, the AsyncAPI document with Spectral; warnings fail as errors do. A
 * clean result is kept until documents, rules or tools change.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { contractFolder } from './contract-documents.ts';
import { TOOLS, installTools } from './install.ts';

const docs = await contractFolder();
const LINTS: readonly { readonly document: string; readonly words: readonly string[] }[] = [
  {
    document: 'openapi.json',
    words: ['redocly', 'lint', '--config', 'redocly.yaml', '--max-problems', '20'],
  },
  ...['openapi.json', 'asyncapi.json'].map((document) => ({
    document,
    words: ['spectral', 'lint', '--ruleset', 'spectral.yaml', '--fail-severity', 'warn', '--quiet'],
  })),
];
const RULES = ['package-lock.json', 'redocly.yaml', 'spectral.yaml', 'lint-contract.ts'];
const CLEAN = path.join(TOOLS, 'node_modules', '.cache', 'contract-clean');

function stateOf(): string {
  const hash = createHash('sha256');
  const files = [
    ...RULES.map((name) => path.join(TOOLS, name)),
    ...LINTS.map(({ document }) => path.join(docs, document)),
  ];
  for (const file of files) hash.update(fs.readFileSync(file)).update('\0');
  return hash.digest('hex');
}
/** Output and verdict of a linter; warnings of Redocly leave the exit code at 0. */
function run(words: readonly string[], file: string): Promise<{ clean: boolean; said: string }> {
  const [name = '', ...args] = words;
  const program = path.join(TOOLS, 'node_modules', '.bin', name);
  const child = spawn(program, [...args, file], {
    cwd: TOOLS,
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => (said += String(part)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ clean: code === 0 && !/You have \d+ warning/.test(said), said }));
  });
}

await installTools();
const state = stateOf();
if (!fs.existsSync(CLEAN) || fs.readFileSync(CLEAN, 'utf8') !== state) {
  const results = await Promise.all(
    LINTS.map(({ document, words }) => run(words, path.join(docs, document))),
  );
  for (const { clean, said } of results) if (!clean) console.error(said);
  if (results.every(({ clean }) => clean)) {
    fs.mkdirSync(path.dirname(CLEAN), { recursive: true });
    fs.writeFileSync(CLEAN, state);
  } else process.exitCode = 1;
}
