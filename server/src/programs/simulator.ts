/**
 * A site without an engine, for integrators: prints its address, users and API key as one line of JSON. `record` writes
 * the journal of a real site without personal data, `play` starts a site at which its events happen again.
 */
import fs from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { messageOf } from '../core/errors.ts';
import { recordSite } from '../simulator/recording.ts';
import { createSimulator } from '../simulator/simulator.ts';

const USAGE = `Usage:
  simulator [--port <n>] [--seed <file>]   a site of the demo company, or of a company as YAML
  simulator record <file>                  what the journal of OFFHOOK_URL holds, without personal data; asked with OFFHOOK_API_KEY
  simulator play <file> [--port <n>]       a site at which the recording happens as its time moves on`;

async function record(file: string, { OFFHOOK_URL: base, OFFHOOK_API_KEY: key }: NodeJS.ProcessEnv) {
  if (base === undefined || !URL.canParse(base))
    throw new Error('OFFHOOK_URL: expected http(s)://host[:port]');
  if (key === undefined)
    throw new Error('OFFHOOK_API_KEY: expected a key with every scope that ends in :read');
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(new URL(path, base), { headers: { authorization: `Bearer ${key}` } });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json();
  };
  await using out = await fs.open(file, 'wx', 0o600);
  let count = -1;
  for await (const line of recordSite(ask)) {
    await out.write(`${line}\n`);
    count += 1;
  }
  process.stderr.write(`${count} events are in ${file}.\n`);
}

async function run(port: number, from: { readonly seed?: string; readonly recording?: string }) {
  const simulator = await createSimulator({ port, ...from });
  const { base, key, users } = simulator;
  process.stdout.write(`${JSON.stringify({ base, key, users })}\n`);
  let closing = false;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => {
      if (closing) return;
      closing = true;
      void simulator.close();
    });
}

process.umask(0o077);
try {
  const { values, positionals } = parseArgs({
    options: { port: { type: 'string', default: '0' }, seed: { type: 'string' } },
    allowPositionals: true,
  });
  const { port: given, seed } = values;
  const port = Number(given);
  if (!/^\d{1,5}$/.test(given) || port > 65_535)
    throw new Error(`--port=${given}: expected a number from 0 to 65535; 0 takes a free port`);
  const [command, file, ...rest] = positionals;
  if (command === undefined) await run(port, { ...(seed !== undefined && { seed }) });
  else if (file === undefined || rest.length > 0 || seed !== undefined) throw new Error(USAGE);
  else if (command === 'record') await record(file, process.env);
  else if (command === 'play') await run(port, { recording: file });
  else throw new Error(USAGE);
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${messageOf(error)}\n`);
}
