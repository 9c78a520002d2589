/**
 * The service with a faulty engine configuration, chosen by `fault.json` in its data folder: `broken` renders files that
 * the engine rejects and hides it from the proof; `hang` stops at a step and writes it to the file `at`; `log` lets the
 * throw-away engine hang in its start at this log file, a pipe without a reader; `lie` reports on the first check that the
 * engine does not have the version.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readConfig } from '../../src/boot/config.ts';
import type { EngineConfig, EngineFiles } from '../../src/ports/engine-config.ts';
import { startService } from '../../src/boot/service.ts';

export interface FaultFile {
  readonly broken?: 'option' | 'bracket' | 'application' | 'priority';
  readonly hang?: 'writing' | 'written' | 'reloading' | 'reloaded' | 'verified';
  readonly log?: string;
  readonly lie?: true;
}
const BREAK: Readonly<
  Record<NonNullable<FaultFile['broken']>, { file: string; spoil: (text: string) => string }>
> = {
  option: {
    file: 'pjsip_endpoints.conf',
    spoil: (text) => text.replace(/^(\[1004\].*)$/m, '$1\nno_such_option = yes'),
  },
  bracket: { file: 'pjsip_endpoints.conf', spoil: (text) => text.replace(/^\[1004\]/m, '[1004') },
  application: {
    file: 'extensions.conf',
    spoil: (text) => text.replace(/^(exten => 1004,1,)\w+\(/m, '$1NoSuchApplication('),
  },
  priority: {
    file: 'extensions.conf',
    spoil: (text) => text.replace(/^exten => 1004,1,.*$/m, 'exten => 1004'),
  },
};

function faulty(real: EngineConfig, folder: string): EngineConfig {
  const fault = (): FaultFile => {
    try {
      return JSON.parse(readFileSync(path.join(folder, 'fault.json'), 'utf8')) as FaultFile;
    } catch {
      return {};
    }
  };
  let whole = new Map<string, string>();
  let lied = false;
  const at = async (step: NonNullable<FaultFile['hang']>): Promise<void> => {
    if (fault().hang !== step) return;
    writeFileSync(path.join(folder, 'at'), step);
    await new Promise(() => undefined);
  };
  return {
    get ready() {
      return real.ready;
    },
    render(site): EngineFiles {
      const files = new Map(real.render(site));
      const { broken } = fault();
      if (broken === undefined || !files.get('pjsip_endpoints.conf')?.includes('1013')) return files;
      const { file, spoil } = BREAK[broken];
      const text = files.get(file)!;
      const spoilt = spoil(text);
      if (spoilt === text) throw new Error(`${file} cannot be broken: ${text.slice(0, 2000)}`);
      whole = new Map([[spoilt, text]]);
      return files.set(file, spoilt);
    },
    onDisk: (names) => real.onDisk(names),
    read: (name, backup) => real.read(name, backup),
    certify: (files) => real.certify(files),
    prepare: (files, signal) => real.prepare(files, signal),
    prove(files, signal) {
      const proven = new Map([...files].map(([name, text]) => [name, whole.get(text) ?? text]));
      const { log } = fault();
      if (log !== undefined) proven.set('logger.conf', `${proven.get('logger.conf')}${log} => error\n`);
      return real.prove(proven, signal);
    },
    async write(files, back) {
      await at('writing');
      const names = await real.write(files, back);
      await at('written');
      return names;
    },
    async reload(names, signal) {
      await at('reloading');
      await real.reload(names, signal);
      await at('reloaded');
    },
    async verify(proof, names, signal, depth) {
      const problems = await real.verify(proof, names, signal, depth);
      await at('verified');
      if (fault().lie !== true || lied) return problems;
      lied = true;
      return [{ object: null, file: null, words: 'it is said not to hold it' }];
    },
    handWritten: () => real.handWritten(),
    hidden: (name, text) => real.hidden(name, text),
    needsRestart: (names) => real.needsRestart(names),
  };
}

process.umask(0o077);
const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort(name));
const config = readConfig(process.env, process.argv.slice(2));
const service = await startService(config, stopping.signal, undefined, {
  engineConfig: (real) => faulty(real, config.data),
});
await service.closed;
await service[Symbol.asyncDispose]();
