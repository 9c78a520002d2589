/** For tests of the process: a real Asterisk with few modules, and misbehaving programs. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { asteriskConf, etcDir, logDir } from '../../src/adapters/asterisk/conf/instance.ts';
import type { AsteriskProgram, Instance } from '../../src/adapters/asterisk/conf/instance.ts';
import { obtainAsterisk } from '../../src/adapters/asterisk/provision/asterisk.ts';
import { createInstance } from '../../src/adapters/asterisk/process/instance-file.ts';
import { findLiving } from '../../src/adapters/asterisk/process/living.ts';
import { enginePorts } from './ports.ts';

let obtained: Promise<AsteriskProgram> | undefined;
/** The Asterisk shared by all tests, got once into the cache. */
export const realProgram = (): Promise<AsteriskProgram> =>
  (obtained ??= obtainAsterisk({
    cache: process.env['OFFHOOK_CACHE'] ?? path.join(os.homedir(), '.cache', 'offhook'),
    explicit: process.env['OFFHOOK_ASTERISK'] ?? '',
    progress: (line) => process.stderr.write(`${line}\n`),
  }));

export function temporary(t: TestContext): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Writes the configuration that Asterisk needs to boot with `modules` (lines of modules.conf). */
export function configure(
  instance: Instance,
  program: AsteriskProgram,
  modules: readonly string[] = [],
): void {
  const { folder } = instance;
  const directories = {
    astetcdir: etcDir(instance),
    ...(program.modules_dir === null ? {} : { astmoddir: program.modules_dir }),
    astvarlibdir: `${folder}/lib`,
    astdbdir: `${folder}/lib`,
    astkeydir: `${folder}/lib`,
    astdatadir: program.data_dir,
    astagidir: `${folder}/lib`,
    astspooldir: `${folder}/spool`,
    astrundir: instance.run_dir,
    astlogdir: logDir(instance),
    astsbindir: folder,
  };
  const lines = Object.entries(directories).map(([key, value]) => `${key} => ${value}`);
  fs.writeFileSync(asteriskConf(instance), `[directories]\n${lines.join('\n')}\n`);
  fs.writeFileSync(
    path.join(etcDir(instance), 'modules.conf'),
    `[modules]\nautoload=no\n${modules.join('\n')}\n`,
  );
  fs.writeFileSync(
    path.join(etcDir(instance), 'logger.conf'),
    '[general]\n[logfiles]\nconsole => error,warning\n',
  );
}

/** A configured instance in a new folder; its engine is killed at the end of the test. */
export async function testInstance(
  t: TestContext,
  program: AsteriskProgram,
  modules: readonly string[] = [],
): Promise<Instance> {
  const data = fs.mkdtempSync(path.join(os.tmpdir(), 'offhook-test-'));
  const instance = await createInstance(data, { ports: await enginePorts() });
  configure(instance, program, modules);
  t.after(() => {
    // Before its folder is removed, which identifies the process.
    const living = findLiving(instance);
    if (living) process.kill(living.pid, 'SIGKILL');
    fs.rmSync(data, { recursive: true, force: true });
  });
  return instance;
}

/** A program with Asterisk's arguments that runs `body` (JavaScript); its console never answers. */
export function fakeProgram(folder: string, body: string): AsteriskProgram {
  const script = path.join(folder, 'fake.mjs');
  fs.writeFileSync(script, `if (process.argv.includes('-rx')) process.exitCode = 1;\nelse { ${body} }\n`);
  return {
    command: [process.execPath, script],
    version: '22.0.0',
    modules_dir: null,
    data_dir: folder,
    origin: 'a test',
  };
}
