/** A throw-away engine: the given files in a folder of its own, without access to any phone or trunk. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ServiceError, messageOf } from '../../../core/errors.ts';
import { silent } from '../../../core/log.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { EngineFiles } from '../../../ports/engine-config.ts';
import { consoleText } from '../console-text.ts';
import { AmiConnection } from '../ami/connection.ts';
import { asteriskConf } from '../conf/engine-files.ts';
import { managerConf } from '../conf/manager-files.ts';
import { etcDir } from '../conf/instance.ts';
import type { AsteriskProgram, Instance } from '../conf/instance.ts';
import { consoleFile } from '../process/console-log.ts';
import { createInstance, loadInstance } from '../process/instance-file.ts';
import { findLiving, lives } from '../process/living.ts';
import type { Living } from '../process/living.ts';
import { EngineProcess } from '../process/supervise.ts';
import type { Asked } from './read-back.ts';

const PREFIX = 'shadow-';
/**
 * Modules a proof does without: call records, and those that serve connected phones. Each reads every endpoint at the start,
 * which is most of the time a large site takes.
 */
const LEFT_OUT = [
  'cel_custom',
  'chan_pjsip',
  'func_pjsip_aor',
  'func_pjsip_contact',
  'func_pjsip_endpoint',
  'res_cdrel_custom',
  'res_pjsip_mwi',
  'res_pjsip_mwi_body_generator',
  'res_pjsip_registrar',
] as const;
const LEFT = new RegExp(String.raw`^load = (?:${LEFT_OUT.join('|')})\.so\n`, 'gm');

/**
 * Files with the engine's paths and access rights are replaced; all others are used unchanged. Each transport exists by name
 * without a socket, so that nothing is sent or received.
 */
function shadowFiles(
  files: EngineFiles,
  transports: readonly string[],
  instance: Instance,
  program: AsteriskProgram,
): EngineFiles {
  const sockets = transports.map((t) => `[${t}]\ntype = transport\nprotocol = ws\nbind = 127.0.0.1\n`);
  return new Map([
    ...files,
    ['asterisk.conf', asteriskConf(instance, program)],
    ['manager.conf', managerConf(instance)],
    ['http.conf', '[general]\nenabled = no\n'],
    ['modules.conf', (files.get('modules.conf') ?? '').replaceAll(LEFT, '')],
    ['shadow_transports.conf', sockets.join('')],
    [
      'sorcery.conf',
      `${files.get('sorcery.conf') ?? ''}\n[res_pjsip](+)\ntransport = config,shadow_transports.conf,criteria=type=transport\n`,
    ],
  ]);
}

export interface Shadow extends AsyncDisposable {
  readonly asked: Asked;
  /** Its log. */
  readonly log: string;
}
/** It ended, or did not boot, because of its configuration. */
export class DidNotBoot extends Error {}

async function kill(instance: Instance, clock: Clock, started: Living | null): Promise<void> {
  const found = findLiving(instance) ?? started;
  if (found === null || !lives(found)) return;
  try {
    process.kill(found.pid, 'SIGKILL');
  } catch {
    // It ended by itself meanwhile.
  }
  for (let i = 0; i < 400 && lives(found); i++) await clock.sleep(10);
}
const remove = async (folder: string, instance: Instance | null): Promise<void> => {
  if (instance !== null) await rm(instance.run_dir, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
};

/** Stops and removes the throw-away engines that a killed service left in `home`. */
export async function sweepShadows(home: string, clock: Clock): Promise<void> {
  for (const name of await readdir(home).catch(() => [])) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = path.join(home, name);
    let instance: Instance | null = null;
    try {
      instance = loadInstance(folder);
    } catch {
      // An unfinished folder has no engine.
    }
    if (instance !== null) await kill(instance, clock, null);
    await remove(folder, instance);
  }
}

/**
 * Boots one in a folder under `home`; disposing stops it and removes the folder. Rejects with `DidNotBoot`, with the signal's
 * reason, or with `ServiceError` `storage_full` where the folder cannot be filled.
 */
export async function startShadow(
  files: EngineFiles,
  transports: readonly string[],
  {
    home,
    program,
    clock,
    signal,
  }: {
    readonly home: string;
    readonly program: AsteriskProgram;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<Shadow> {
  const folder = await mkdtemp(path.join(home, PREFIX));
  let instance: Instance | null = null;
  let started: Living | null = null;
  const end = async (): Promise<void> => {
    if (instance !== null) await kill(instance, clock, started);
    await remove(folder, instance);
  };
  try {
    instance = await createInstance(folder);
    const etc = etcDir(instance);
    await mkdir(path.join(etc, 'custom'), { mode: 0o700 });
    for (const [name, text] of shadowFiles(files, transports, instance, program))
      await writeFile(path.join(etc, name), text, { mode: 0o600 });
    const engine = new EngineProcess({ program, instance, log: silent, clock });
    engine.start();
    try {
      await engine.up(signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new DidNotBoot(messageOf(error), { cause: error });
    } finally {
      started = findLiving(instance);
      await engine.release();
    }
    const ami = await AmiConnection.forActions(instance, { clock, log: silent, signal });
    const it = instance;
    return {
      log: consoleFile(instance),
      asked: {
        ami,
        signal,
        console: (text) => consoleText(it, text, { clock, log: silent, ms: 60_000, signal }),
      },
      async [Symbol.asyncDispose]() {
        ami.close();
        await end();
      },
    };
  } catch (error) {
    await end();
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC')
      throw new ServiceError('storage_full', 'the disk has no space for a throw-away engine', {
        cause: error,
      });
    throw error;
  }
}
