/** P27: what a test of an integration waits for: the start of the packed simulator, and calls by name. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { packSimulator } from '../../scripts/pack-simulator.ts';
import {
  ALL_CORES,
  QUICK,
  ROUNDS,
  SERVICE_FLAGS,
  SUBJECT_CORE,
  atMost,
  count,
  cpuOf,
  end,
  figure,
  onCore,
  run,
  temporaryFolder,
} from '../lib.ts';
import type { Row } from '../lib.ts';

/** Milliseconds until the packed program printed its address, and those of the processor. */
async function startOf(program: string): Promise<{ ms: number; cpu: number }> {
  const began = performance.now();
  const [command = '', ...args] = onCore(ALL_CORES, [process.execPath, program]);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const ms = performance.now() - began;
  const cpu = cpuOf(child.pid!) / 1_000;
  await end(child);
  return { ms, cpu };
}

export async function p27(): Promise<Row> {
  using folder = temporaryFolder();
  const packed = await packSimulator(folder.path);
  spawnSync('tar', ['xzf', packed, '-C', folder.path]);
  const program = path.join(folder.path, 'package/cli.js');
  // The first start of all compiles what the later ones read from the cache.
  await startOf(program);
  const starts = [];
  for (let round = 0; round < ROUNDS; round += 1) starts.push(await startOf(program));
  const calls = QUICK ? 50 : 1_000;
  const played = await run<{ seconds: number; life: number }>(
    'simulator-subject.ts',
    [calls],
    SUBJECT_CORE,
    SERVICE_FLAGS,
  );
  const start = figure(
    'start of the packed program to its address',
    'ms',
    'ours',
    starts.map(({ ms }) => ms),
    'higher',
  );
  return {
    id: 'P27',
    title: 'The simulator of integrators',
    figures: [
      start,
      figure(
        'of it time of the processor',
        'ms',
        'ours',
        starts.map(({ cpu }) => cpu),
      ),
      figure(`${count(calls)} calls by name, answered, 60 s of talk`, 's', 'ours', [played.seconds]),
      figure('the same calls in life, one after the other', 's', 'peer', [played.life]),
    ],
    gates: [
      atMost(
        'start',
        1_000,
        starts.map(({ ms }) => ms),
        ' ms',
      ),
    ],
  };
}
